/** The context of one attempt: everything that a node may use, limited to its workspace, directory, time and secrets. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentAction, Usage } from '../agents/agent.ts';
import { expand } from '../dot/expand.ts';
import type { RunState } from '../model/checkpoint.ts';
import { epochVariable } from '../model/epoch-variable.ts';
import type { Node } from '../model/graph.ts';
import type { JsonObject } from '../model/json.ts';
import { layout } from '../model/layout.ts';
import { own } from '../model/own.ts';
import type { RanCommand } from '../model/visit-record.ts';
import type { Site, StageProgram } from '../nodes/kind.ts';
import { checkEnvironment } from '../policy/check-environment.ts';
import { holdoutVariable } from '../policy/holdout.ts';
import { isMissing } from '../system/files.ts';
import { type ByteMasker, masker, maskStream } from '../system/mask.ts';
import { head, readSome } from '../system/read.ts';
import { removeAside } from '../system/remove.ts';
import type { Confinement } from '../system/sandbox/confinement.ts';
import type { Exit, ProcessId } from '../system/spawn.ts';
import { type Lookout, lookout } from '../workspace/newest.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { runAgentProgram } from './agent-door.ts';
import { maskFolder, maskKept } from './artifacts.ts';
import { confinementOf, rungOf, scenarioVariables } from './confine.ts';
import type { Desk } from './desk.ts';
import { staysInside, writeInside } from './inside.ts';
import { maskedObject } from './masked.ts';
import { note } from './ran.ts';
import { type Hidden, type Recorder, recorder } from './recorder.ts';
import { reopen } from './reopen.ts';
import type { RunSetting } from './run-context.ts';
import { pinnedIn, seesHoldout, withheldFrom } from './sealing.ts';
import { sandboxHint } from './smell.ts';
import { environmentOf, passedTo, seenBy, withOwnWords } from './stage-environment.ts';
import { stageRecords } from './stage-records.ts';
import { known } from './values.ts';
import { addPassed, markingSecrets, secretsIn, withheldHint } from './withheld.ts';

export type Visit = {
  readonly node: Node;
  readonly state: RunState;
  readonly visit: number;
  readonly attempt: number;
  /** Why the attempt before is repeated. */
  readonly repeats?: string;
  /** 1-based number of the agent call that this attempt would make. */
  readonly call: number;
  /** `explicit`: set for this node or the run; `runLeftMs`: the rest of the run's time limit. */
  readonly timeout: { readonly ms: number; readonly explicit: boolean; readonly runLeftMs: number };
  readonly snapshotId: string;
  readonly signal: AbortSignal;
  /** Called with each process as soon as it exists. */
  readonly spawned: (process: ProcessId) => Promise<void>;
  /** Called with each action of an agent program, already masked. */
  readonly acted: (action: AgentAction) => void;
  readonly desk: Desk;
  /** Another directory for the artifacts than the node's. */
  readonly nodeDir?: string;
};

/** Actions of an agent per attempt that become events; further ones are only in its log. */
const mostActions = 1000;

/** Creates the context of one attempt. Secrets are masked in everything that it writes. */
export function siteFor(
  setting: RunSetting,
  visit: Visit,
  spent: (usage: Usage) => void,
): Site & {
  readonly mask: (text: string) => string;
  readonly hidden: Hidden;
  /** Call it when the attempt has ended: returns a hint if the sandbox seems to be the cause of its failure. */
  leave(failed: boolean): Promise<string | undefined>;
  readonly exchange: Recorder;
  /** Programs of tools and checks that have ended. */
  readonly ran: readonly RanCommand[];
  /** The state that the attempt set. */
  readonly newToolState: () => JsonObject | undefined;
} {
  const { node, state } = visit;
  const nodeDir = visit.nodeDir ?? layout(setting.runDir).node(node.id);
  const pass = passedTo(setting, node);
  const { env, values, withheld, mask: maskValues } = environmentOf(setting, pass);
  const secret = new Set(values);
  let { secrets } = environmentOf(setting, pass);
  let masked = maskValues;
  let printedSecret = false;
  /** Values that programs of this attempt got, and may have written. */
  const given = new Set<string>();
  /** What the programs of this attempt were, and the secrets that they did not get. */
  const without: { readonly text: string; readonly withheld: readonly string[] }[] = [];
  const mask = (text: string) => masked(text);
  // Streams are masked statefully: a secret may be split between two pieces.
  let live: Readonly<Record<'answer' | 'reasoning', ByteMasker>> | undefined;
  const deadline = setting.clock.monotonic() + visit.timeout.ms;
  const inWorkspace = (path: string) => join(setting.workspace, path);

  /** The programs of this attempt that were confined, with their artifacts. */
  const confined: { readonly confinement: Confinement; readonly files: readonly string[] }[] = [];
  const look = lookout(setting.workspace);
  const ran: RanCommand[] = [];
  const hidden: Hidden = { paths: [], made: [], sealed: [] };
  let actions = 0;
  let newToolState: JsonObject | undefined;
  const exchange = recorder({
    log: setting.exchanges,
    ...{ runId: setting.runId, epoch: setting.epoch, clock: setting.clock },
    ...{ node: node.id, nodeDir, visit: visit.visit, attempt: visit.attempt },
    signal: visit.signal,
    mask,
    hidden,
  });
  const chooseAgent = (): Site['agent'] => {
    const chosen = setting.agentFor(node);
    // Only live agents cost: replayed answers were paid for by the recorded run.
    const live = chosen === undefined ? undefined : visit.desk.paying(chosen, visit.attempt, mask);
    const replayed = (sha256: string) => exchange.replayed(sha256);
    const agent =
      setting.replay?.agentFor({ node: node.id, visit: visit.visit, live, hidden, mask, replayed }) ?? live;
    if (agent === undefined) return undefined;
    const marked = markingSecrets(agent, (text) => secretsIn(text, secrets, printedSecret));
    return { agent: exchange.listening(marked), call: visit.call };
  };

  const agent = chooseAgent();
  let odd: readonly string[] = [];
  const stageEnv = (from = env) => withOwnWords(from, setting, visit, nodeDir);

  const { keep, keepLocked, putBack } = stageRecords(nodeDir, mask, (changed) =>
    setting.log('warn', 'restored records of the engine that the node had changed', {
      node: node.id,
      changed,
    }),
  );
  const writeContext = () => keepLocked('context.json', `${JSON.stringify(state.context, null, 2)}\n`);

  return {
    graph: setting.graph,
    node,
    runId: setting.runId,
    runDir: setting.runDir,
    workspace: setting.workspace,
    nodeDir,
    visit: visit.visit,
    attempt: visit.attempt,
    repeats: visit.repeats,
    previous: state.last_outcome ?? undefined,
    context: state.context,
    toolState: state.tool_state,
    keepToolState(now) {
      newToolState = maskedObject(now, mask);
    },
    newToolState: () => newToolState,
    origin: (key) => own(state.origins, key),
    clock: setting.clock,
    signal: visit.signal,
    agent,
    async ask(task, stop) {
      if (agent === undefined) throw new Error(`Internal: no agent for node ${node.id}`);
      await setting.leaks?.beforeAsking(node, task.prompt, state.context);
      const answering = agent.agent.work(task, AbortSignal.any([visit.signal, stop]));
      return answering.finally(() => reopen(nodeDir));
    },
    exchange,
    historyEnv: setting.historyEnv,
    withheld: withheldFrom(node, setting.sealed),
    scenarios: scenariosOf(setting),
    timeout: visit.timeout,
    mask,
    async run(program: StageProgram): Promise<Exit> {
      const left = deadline - setting.clock.monotonic();
      if (left <= 0) return { kind: 'timed_out', afterMs: visit.timeout.ms };
      const limit = Math.min(left, (program.check === true ? setting.commandTimeoutMs : undefined) ?? left);
      await writeContext();
      await visit.desk.share(nodeDir);
      const holdout = setting.sealed !== undefined && seesHoldout(node, 'tool') ? setting.sealed : undefined;
      const confinement = confinementOf(setting, node, {
        check: program.check === true,
        history: program.env?.['GIT_DIR'] !== undefined,
        nodeDir,
        printed: confined.flatMap(({ files }) => files),
        pinned: holdout === undefined ? [] : pinnedIn(setting.workspace, holdout),
      });
      const files = [join(nodeDir, program.stdoutName), join(nodeDir, program.stderrName)] as const;
      confined.push({ confinement, files });
      without.push({ text: program.argv.join(' '), withheld });
      addPassed(given, secrets, withheld);
      const ended = await setting.spawn.run({
        argv: program.argv,
        cwd: program.cwd === undefined ? setting.workspace : inWorkspace(program.cwd),
        env: {
          ...seenBy(confinement, stageEnv()),
          ...(holdout === undefined ? {} : { [holdoutVariable]: holdout.paths.join(',') }),
          ...scenarioVariables(setting.graph, node, setting.confinement),
          ...(program.check === true ? checkEnvironment(env) : {}),
          ...program.env,
        },
        confinement,
        ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
        stdoutFile: files[0],
        stderrFile: files[1],
        mask: values,
        timeoutMs: limit,
        signal: visit.signal,
        marker: `${epochVariable(setting.processMarker)}=${setting.epoch}`,
        started: (process) => visit.spawned(process),
      });
      odd = reopen(nodeDir);
      await putBack();
      await visit.desk.gather(nodeDir, visit.attempt, mask);
      note(ran, program, ended, mask);
      return ended.kind === 'timed_out'
        ? { kind: 'timed_out', afterMs: limit < left ? limit : visit.timeout.ms }
        : ended;
    },
    async runAgent(program, stop) {
      // The agent's own timeout replaces the default, but not a timeout that was set for the node or the run.
      const most = () =>
        program.timeoutMs !== undefined && !visit.timeout.explicit
          ? visit.timeout.runLeftMs
          : deadline - setting.clock.monotonic();
      const ended = await runAgentProgram(program, {
        spawn: setting.spawn,
        runDir: setting.runDir,
        workspace: setting.workspace,
        nodeDir,
        environment(keys, servers) {
          const of = environmentOf(setting, [...pass, ...servers], keys);
          // Programs of one node may have different keys.
          for (const value of of.values) secret.add(value);
          secrets = [...secrets, ...of.secrets];
          masked = masker([...secret]);
          live = undefined;
          without.push({ text: program.argv.join(' '), withheld: of.withheld });
          addPassed(given, of.secrets, of.withheld);
          return { env: stageEnv(of.env), mask: of.values };
        },
        printedSecret() {
          printedSecret = true;
        },
        confinement(declared) {
          const confinement = confinementOf(setting, node, {
            check: false,
            history: false,
            program: declared,
          });
          confined.push({
            confinement,
            files: [join(nodeDir, program.stdoutName), join(nodeDir, program.stderrName)],
          });
          return confinement;
        },
        readScope: node.settings.read_scope ?? [],
        keep,
        timeoutMs: Math.min(program.timeoutMs ?? Number.POSITIVE_INFINITY, most()),
        signal: stop === undefined ? visit.signal : AbortSignal.any([visit.signal, stop]),
        marker: setting.processMarker,
        async beforeSpawn() {
          await writeContext();
          await visit.desk.share(nodeDir);
          beginLook(look);
        },
        spawned: (process) => visit.spawned(process),
        wasHidden(paths, made) {
          // One by one: a call takes a limited number of arguments.
          for (const path of paths) hidden.paths.push(path);
          for (const path of made) hidden.made.push(path);
        },
      });
      await putBack();
      await visit.desk.gather(nodeDir, visit.attempt, mask);
      await exchange.program(program, ended);
      return ended.kind === 'timed_out' && ended.afterMs !== program.timeoutMs
        ? { kind: 'timed_out', afterMs: visit.timeout.ms }
        : ended;
    },
    async agentSandbox() {
      const rung = rungOf(setting, node);
      return { rung, nests: rung !== 'bwrap' || (await setting.confinement?.nests()) !== false };
    },
    async leave(failed) {
      const [first] = confined;
      if (first?.confinement.rung === 'bwrap') await removeAside(first.confinement.scratch);
      await maskFolder(nodeDir, [...given]);
      if (!failed) return undefined;
      const last = confined.at(-1);
      if (last === undefined) return undefined;
      const tails = await Promise.all(last.files.map((file) => readSome(file, 16_384, 'tail')));
      const output = tails.join('\n');
      const hints = [
        withheldHint(without, output, node.id),
        sandboxHint(output, last.confinement, node.id, setting.workspace),
      ].filter((hint) => hint !== undefined);
      return hints.length === 0 ? undefined : hints.join('; ');
    },
    changedSince: (at) => look.changedSince(at),
    acted(action) {
      actions += 1;
      if (actions > mostActions) return;
      visit.acted({
        action: action.action,
        detail: head(mask(action.detail), 500),
        status: head(mask(action.status), 100),
      });
    },
    hidden,
    ran,
    keep,
    maskKept: (name) => maskKept(join(nodeDir, name), [...secret]),
    readNodeFile: (name, limit, tail) => readSome(join(nodeDir, name), limit, tail),
    wasNoFile: (name) => odd.includes(join(nodeDir, name)),
    async readWorkspaceFile(path, limit) {
      return (await staysInside(setting.workspace, path)) ? readSome(inWorkspace(path), limit) : undefined;
    },
    writeWorkspaceFile: (path, content) => writeInside(setting.workspace, path, content),
    async statWorkspace(path) {
      if (!(await staysInside(setting.workspace, path))) return undefined;
      try {
        const is = await stat(inWorkspace(path));
        return is.isFile() ? 'file' : is.isDirectory() ? 'dir' : undefined;
      } catch (error) {
        if (isMissing(error) || (error instanceof Error && 'code' in error && error.code === 'ELOOP'))
          return undefined;
        throw error;
      }
    },
    expand: (text, mode) =>
      expand(
        text,
        {
          goal: setting.graph.settings.goal?.text,
          lookup: (kind, key) => known(setting, state, kind, key),
        },
        mode,
      ),
    frozenPrompt: (reference) => own(setting.prompts, reference),
    schema: setting.schema,
    log: (level, message, fields = {}) =>
      setting.log(level, mask(message), { node: node.id, ...maskedObject(fields, mask) }),
    stream(text, channel) {
      live ??= { answer: maskStream([...secret]), reasoning: maskStream([...secret]) };
      setting.watcher.streamed(node.id, live[channel].push(Buffer.from(text)).toString(), channel);
    },
    spent(usage) {
      spent(usage);
      setting.watcher.spent(node.id, usage);
    },
  };
}

/** A workspace that cannot be listed is reported when the attempt has ended. */
function beginLook(look: Lookout): void {
  try {
    look.begin();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
  }
}

/** The sealed paths; in a run without a holdout, the paths that would be sealed. */
export const scenariosOf = ({ graph, sealed }: Pick<RunSetting, 'graph' | 'sealed'>): readonly string[] =>
  sealed?.paths ?? graph.settings.holdout;
