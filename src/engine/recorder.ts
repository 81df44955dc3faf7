/** Records what a node and its agent exchange in one attempt. */
import { join } from 'node:path';
import type {
  Agent,
  AgentAction,
  AgentProgram,
  AgentReport,
  AgentTask,
  ExchangeItem,
} from '../agents/agent.ts';
import type { Exchange, FileChange } from '../model/exchange.ts';
import type { Json } from '../model/json.ts';
import { sha256 } from '../model/sha256.ts';
import type { ExchangeLog } from '../store/exchanges.ts';
import type { Clock } from '../system/clock.ts';
import { beforeWrite } from '../system/fence.ts';
import { readSome } from '../system/read.ts';
import type { Exit } from '../system/spawn.ts';
import { diff } from '../workspace/changes.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { maskedValue } from './masked.ts';
import { withoutSplit } from './pieces.ts';

/** Characters that the items of one exchange may have, and bytes of a program's output that are kept with it. */
const mostItems = 32 * 1024 * 1024;
const mostOutput = 8 * 1024 * 1024;

/** What no snapshot has of an attempt: workspace paths hidden from its agent, files that it made there, and holdout paths that
 *  it wrote to; all of that is undone. */
export type Hidden = { readonly paths: string[]; readonly made: string[]; readonly sealed: string[] };

export type RecorderSetting = {
  /** Undefined where nothing is recorded. */
  readonly log: ExchangeLog | undefined;
  readonly runId: string;
  readonly epoch: number;
  readonly clock: Clock;
  readonly node: string;
  readonly nodeDir: string;
  readonly visit: number;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Masks the secrets known by now. */
  readonly mask: (text: string) => string;
  readonly hidden: Hidden;
};

/** The record of one attempt; `save` writes it, once the workspace has a snapshot. */
export interface Recorder {
  /** The same agent, with its calls recorded. */
  listening(agent: Agent): Agent;
  /** Records a program of the agent that has ended. */
  program(program: AgentProgram, exit: Exit): Promise<void>;
  /** Records the hash of the exchange that answered in place of an agent. */
  replayed(line: string): void;
  /** Writes the exchange, if there was one. `around` is undefined where the workspace could not be recorded. */
  save(around: { readonly before: Snapshot; readonly after: Snapshot } | undefined): Promise<void>;
}

type AgentCall = { readonly task: AgentTask; readonly agent: Agent; readonly began: number };

export function recorder(setting: RecorderSetting): Recorder {
  const { log, clock, mask } = setting;
  const items: ExchangeItem[] = [];
  const actions: AgentAction[] = [];
  const artifacts = new Map<string, string>();
  let size = 0;
  let dropped = 0;
  let call: AgentCall | undefined;
  let report: AgentReport | undefined;
  let stopped: AgentReport | undefined;
  let elapsed = 0;
  let line: string | undefined;

  const note = (item: ExchangeItem): void => {
    // A process that was taken over while it slept must not send, and pay for, a request.
    if (item.kind === 'request') beforeWrite(setting.nodeDir);
    size += JSON.stringify(item).length;
    if (size > mostItems) dropped += 1;
    else items.push(item);
  };
  return {
    listening: (agent) => ({
      name: agent.name,
      describe: agent.describe,
      async work(task, signal) {
        call = { task, agent, began: clock.monotonic() };
        const recorded: AgentTask = {
          ...task,
          record: note,
          async keep(name, content) {
            artifacts.set(name, content);
            await task.keep(name, content);
          },
          acted(action) {
            actions.push(action);
            task.acted(action);
          },
        };
        report = await agent.work(log === undefined ? task : recorded, signal);
        elapsed = clock.monotonic() - call.began;
        if (report.kind === 'cancelled' && signal.aborted && !setting.signal.aborted)
          stopped = stalledReport(report, agent.name, String(signal.reason));
        return report;
      },
    }),
    replayed: (sha) => {
      line = sha;
    },
    async program(program, exit) {
      if (log === undefined) return;
      const output = async (name: string) => {
        // Of a very long one the end, which later prompts quote.
        const text = await readSome(join(setting.nodeDir, name), mostOutput, 'tail');
        if (text !== undefined) artifacts.set(name, text);
        return text === undefined ? null : sha256(text);
      };
      note({
        kind: 'program',
        argv: [...program.argv],
        cwd: program.cwd,
        stdin_sha256: program.stdin === undefined ? null : sha256(mask(program.stdin)),
        stdout: { name: program.stdoutName, sha256: await output(program.stdoutName) },
        stderr: { name: program.stderrName, sha256: await output(program.stderrName) },
        exit: { ...exit },
      });
    },
    async save(around) {
      if (log === undefined || call === undefined) return;
      const { task, agent } = call;
      const prompt = mask(task.prompt);
      const { prompt: _, llm_prompt: __, ...attributes } = task.attributes;
      const kept: Exchange['artifacts'] = [];
      for (const [name, content] of artifacts) kept.push({ name, content: await log.body(mask(content)) });
      const answer = stopped ?? (report?.kind === 'cancelled' ? undefined : report);
      const written = answer?.kind === 'answered' ? task.attributes['response_file']?.trim() : undefined;
      const clean = (value: object): Json => maskedValue(JSON.parse(JSON.stringify(value)), mask);
      await log.append({
        schema_version: 1,
        run_id: setting.runId,
        epoch: setting.epoch,
        at: clock.now().toISOString(),
        node: setting.node,
        visit: setting.visit,
        attempt: setting.attempt,
        call: task.call,
        complete: answer !== undefined && !setting.signal.aborted,
        agent: { name: agent.name, describe: mask(agent.describe) },
        attributes: Object.fromEntries(Object.entries(attributes).map(([key, text]) => [key, mask(text)])),
        prompt_sha256: sha256(prompt),
        prompt: await log.body(prompt),
        schema:
          task.schema === undefined
            ? null
            : { name: task.schema.name, schema: await log.body(JSON.stringify(task.schema.schema)) },
        items: await log.body(
          withoutSplit(items, mask)
            .map((item) => `${JSON.stringify(clean(item))}\n`)
            .join(''),
        ),
        items_dropped: dropped,
        report: answer === undefined ? null : await log.body(JSON.stringify(clean(answer))),
        artifacts: kept,
        actions: actions.map(({ action, detail, status }) => ({
          action,
          detail: mask(detail),
          status: mask(status),
        })),
        hidden: {
          paths: [...setting.hidden.paths],
          made: [...setting.hidden.made],
          ...(setting.hidden.sealed.length === 0 ? {} : { sealed: [...setting.hidden.sealed] }),
        },
        files:
          around === undefined
            ? null
            : {
                before: around.before.id,
                after: around.after.id,
                // The engine writes the answer of a single-turn model itself.
                changes: changesBetween(around.before, around.after).filter(({ path }) => path !== written),
              },
        usage: report?.usage ?? null,
        elapsed_ms: Math.round(elapsed),
        replayed: line ?? null,
      });
    },
  };
}

/** The report of an agent that was stopped because it stalled. Its call is complete, unlike one that was stopped with its
 *  run. */
const stalledReport = (
  { usage, by, spentBefore = [] }: AgentReport & { kind: 'cancelled' },
  name: string,
  why: string,
): AgentReport => ({
  kind: 'failed',
  class: 'stalled',
  reason: `the agent ${by?.agent ?? name} was stopped: ${why}`,
  ...(by === undefined ? {} : { by }),
  spentBefore: [...spentBefore, ...(usage === undefined ? [] : [usage])],
});

/** Changes of files, links and folders between two snapshots, each with what it is after them. */
function changesBetween(before: Snapshot, after: Snapshot): FileChange[] {
  const changes = diff(before, after);
  return (['created', 'modified', 'deleted'] as const).flatMap((change) =>
    [...changes.folders[change], ...changes[change]].flatMap((path): FileChange[] => {
      const entry = (change === 'deleted' ? before : after).tree.get(path);
      if (entry === undefined) return [];
      const { kind, mode, hash, target } = entry;
      if (change === 'deleted') return [{ path, change, kind }];
      const content = hash === undefined ? {} : { sha256: hash };
      return [{ path, change, kind, mode, ...content, ...(target === undefined ? {} : { target }) }];
    }),
  );
}
