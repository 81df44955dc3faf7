/** What a node may touch while it runs: everything bounded to its workspace, its folder, its time and its secrets. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent, AgentAction, Usage } from '../agents/agent.ts';
import { expand } from '../dot/expand.ts';
import { graphAttributes } from '../lint/words.ts';
import { present, readAttributes } from '../model/attribute.ts';
import type { RunState } from '../model/checkpoint.ts';
import { epochVariable } from '../model/epoch-variable.ts';
import type { Graph, Node } from '../model/graph.ts';
import { layout } from '../model/layout.ts';
import { own } from '../model/own.ts';
import type { RanCommand } from '../model/visit-record.ts';
import type { Site, StageProgram } from '../nodes/kind.ts';
import { checkEnvironment } from '../policy/check-environment.ts';
import { holdoutVariable, usualHoldout } from '../policy/holdout.ts';
import { stageEnvironment } from '../policy/secrets.ts';
import type { ExchangeLog } from '../store/exchanges.ts';
import type { Clock } from '../system/clock.ts';
import { isMissing } from '../system/files.ts';
import { type ByteMasker, masker, maskStream } from '../system/mask.ts';
import type { OutOfMemory } from '../system/oom.ts';
import { head, readSome } from '../system/read.ts';
import { removeAside } from '../system/remove.ts';
import type { Confinement } from '../system/sandbox/confinement.ts';
import type { Exit, ProcessId, Spawn } from '../system/spawn.ts';
import { type Lookout, lookout } from '../workspace/newest.ts';
import { WorkspaceError } from '../workspace/trouble.ts';
import { runAgentProgram } from './agent-door.ts';
import { maskKept } from './artifacts.ts';
import { confinementOf, type RunConfinement, rungOf } from './confine.ts';
import type { Desk } from './desk.ts';
import { staysInside, writeInside } from './inside.ts';
import type { LeakGuard } from './leaks.ts';
import { note } from './ran.ts';
import { type Hidden, type Recorder, recorder } from './recorder.ts';
import { reopen } from './reopen.ts';
import type { Replay } from './replay.ts';
import { pinnedIn, type Sealed, seesHoldout, withheldFrom } from './sealing.ts';
import { smellOf } from './smell.ts';
import { droppedFrom, environmentOf, seenBy, withOwnWords } from './stage-environment.ts';
import { stageRecords } from './stage-records.ts';
import type { Texts } from './texts.ts';
import { known } from './values.ts';
import type { Log, Watcher } from './watch.ts';

/** What stays the same for every stage of a run. */
export type RunSetting = Pick<Texts, 'variables' | 'prompts' | 'inputFiles'> & {
  readonly graph: Graph;
  readonly runId: string;
  readonly runDir: string;
  readonly workspace: string;
  readonly clock: Clock;
  readonly spawn: Spawn;
  /** The engine's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Names of secrets that every tool of the run gets. */
  readonly envPass: readonly string[];
  /** Of the records of stages, and (`FACTORY_RUN_MARKER`) of their processes. */
  readonly marker: string;
  readonly processMarker: string;
  readonly epoch: number;
  /** The folder that holds our own `factory`, first on a tool's PATH; and what starts it. */
  readonly factoryBin: string;
  readonly node: string;
  /** What one command of a verification may take, within its stage's time. */
  readonly commandTimeoutMs?: number | undefined;
  readonly schema: Site['schema'];
  readonly agentFor: (node: Node) => Agent | undefined;
  readonly historyEnv: Readonly<Record<string, string>>;
  /** Without it nothing is confined but by process group and limits. */
  readonly confinement?: RunConfinement;
  readonly watcher: Watcher;
  readonly log: Log;
  /** Tells what was killed for want of memory. */
  readonly outOfMemory?: OutOfMemory;
  /** Where exchanges with agents are written down; undefined in a run that has none. */
  readonly exchanges?: ExchangeLog | undefined;
  /** The judge, kept from agents, and what sees to it that nothing of it is told or left; undefined without one. */
  readonly sealed?: Sealed | undefined;
  readonly leaks?: LeakGuard | undefined;
  /** What answers in place of agents, as long as this run follows another one. */
  readonly replay?: Replay | undefined;
};

export type Visit = {
  readonly node: Node;
  readonly state: RunState;
  readonly visit: number;
  readonly attempt: number;
  readonly retries: number;
  /** 1-based number of the agent call that this attempt would make. */
  readonly call: number;
  /** `explicit`: somebody said it, for this node or for the run; `runLeftMs` is what is left of the run's own time. */
  readonly timeout: { readonly ms: number; readonly explicit: boolean; readonly runLeftMs: number };
  readonly snapshotId: string;
  readonly signal: AbortSignal;
  /** Told of each process as soon as it exists. */
  readonly spawned: (process: ProcessId) => Promise<void>;
  /** Told what an agent program did, already masked. */
  readonly acted: (action: AgentAction) => void;
  readonly desk: Desk;
  /** Another folder for its artifacts than the node's own. */
  readonly nodeDir?: string;
};

/** What an agent does beyond this in one attempt stands in its own output only. */
const mostActions = 1000;

/** The site of one attempt. Secrets are masked in whatever is kept. */
export function siteFor(
  setting: RunSetting,
  visit: Visit,
  spent: (usage: Usage) => void,
): Site & {
  readonly mask: (text: string) => string;
  readonly hidden: Hidden;
  /** To be called when the attempt is over: answers what it failed of, if it smells of its confinement. */
  leave(failed: boolean): Promise<string | undefined>;
  readonly exchange: Recorder;
  /** Programs of tools and checks that have ended. */
  readonly ran: readonly RanCommand[];
} {
  const { node, state } = visit;
  const nodeDir = visit.nodeDir ?? layout(setting.runDir).node(node.id);
  const pass = [
    ...setting.envPass,
    ...listed(setting.graph.attrs.get('env_pass')?.value.text),
    ...listed(node.attrs.get('env_pass')?.value.text),
  ];
  const { env, values, mask: maskValues } = environmentOf(setting, pass);
  const secret = new Set(values);
  let masked = maskValues;
  const mask = (text: string) => masked(text);
  // A secret may come in two pieces.
  let live: Readonly<Record<'answer' | 'reasoning', ByteMasker>> | undefined;
  const deadline = setting.clock.monotonic() + visit.timeout.ms;
  const inWorkspace = (path: string) => join(setting.workspace, path);

  /** The programs of this attempt that were confined, with their artifacts. */
  const confined: { readonly confinement: Confinement; readonly files: readonly string[] }[] = [];
  const look = lookout(setting.workspace);
  const ran: RanCommand[] = [];
  const hidden: Hidden = { paths: [], made: [], sealed: [] };
  let actions = 0;
  const exchange = recorder({
    log: setting.exchanges,
    runId: setting.runId,
    epoch: setting.epoch,
    clock: setting.clock,
    node: node.id,
    nodeDir,
    visit: visit.visit,
    attempt: visit.attempt,
    signal: visit.signal,
    mask,
    hidden,
  });
  const answering = (): Site['agent'] => {
    const chosen = setting.agentFor(node);
    // Only a live agent is paid: what a replay answers has been paid for by the run that recorded it.
    const live = chosen === undefined ? undefined : visit.desk.paying(chosen, visit.attempt, mask);
    const replayed = (sha256: string) => exchange.replayed(sha256);
    const agent =
      setting.replay?.agentFor({ node: node.id, visit: visit.visit, live, hidden, mask, replayed }) ?? live;
    return agent === undefined ? undefined : { agent: exchange.listening(agent), call: visit.call };
  };

  const asked = answering();
  let odd: readonly string[] = [];
  const stageEnv = (from = env) => withOwnWords(from, setting, visit, nodeDir);

  const { keep, keepLocked, putBack } = stageRecords(nodeDir, mask, (changed) =>
    setting.log('warn', 'a stage changed records of the engine: put back', { node: node.id, changed }),
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
    retries: visit.retries,
    previous: state.last_outcome ?? undefined,
    context: state.context,
    origin: (key) => own(state.origins, key),
    clock: setting.clock,
    signal: visit.signal,
    agent: asked,
    async ask(task, stop) {
      if (asked === undefined) throw new Error(`Internal: nobody answers for node ${node.id}`);
      await setting.leaks?.beforeAsking(node, task.prompt, state.context);
      const answering = asked.agent.work(task, AbortSignal.any([visit.signal, stop]));
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
      const judging = setting.sealed !== undefined && seesHoldout(node, 'tool') ? setting.sealed : undefined;
      const confinement = confinementOf(setting, node, {
        check: program.check === true,
        history: program.env?.['GIT_DIR'] !== undefined,
        nodeDir,
        printed: confined.flatMap(({ files }) => files),
        pinned: judging === undefined ? [] : pinnedIn(setting.workspace, judging),
      });
      const files = [join(nodeDir, program.stdoutName), join(nodeDir, program.stderrName)] as const;
      confined.push({ confinement, files });
      const ended = await setting.spawn.run({
        argv: program.argv,
        cwd: program.cwd === undefined ? setting.workspace : inWorkspace(program.cwd),
        env: {
          ...seenBy(confinement, stageEnv()),
          ...(judging === undefined ? {} : { [holdoutVariable]: judging.paths.join(',') }),
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
      // A default gives way to the agent's own time; what somebody said for the node or the run does not.
      const most = () =>
        program.timeoutMs !== undefined && !visit.timeout.explicit
          ? visit.timeout.runLeftMs
          : deadline - setting.clock.monotonic();
      const ended = await runAgentProgram(program, {
        spawn: setting.spawn,
        runDir: setting.runDir,
        workspace: setting.workspace,
        nodeDir,
        environment(keys) {
          const of = stageEnvironment(setting.env, pass, keys);
          for (const name of droppedFrom(setting)) delete of.env[name];
          // Another program of the same stage may have had keys of its own.
          for (const value of of.mask) secret.add(value);
          masked = masker([...secret]);
          live = undefined;
          return { env: stageEnv(of.env), mask: of.mask };
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
        readScope: listed(present(node.attrs, 'read_scope')?.value.text),
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
          // One by one: there may be more than a call takes arguments.
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
      if (!failed) return undefined;
      const last = confined.at(-1);
      if (last === undefined) return undefined;
      const tails = await Promise.all(last.files.map((file) => readSome(file, 16_384, 'tail')));
      return smellOf(tails.join('\n'), last.confinement, node.id, setting.workspace);
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
          goal: present(setting.graph.attrs, 'goal')?.value.text,
          lookup: (kind, key) => known(setting, state, kind, key),
        },
        mode,
      ),
    frozenPrompt: (reference) => own(setting.prompts, reference),
    schema: setting.schema,
    log: (level, message, fields = {}) => setting.log(level, message, { node: node.id, ...fields }),
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

/** A workspace that cannot be listed is judged when the stage has ended. */
function beginLook(look: Lookout): void {
  try {
    look.begin();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
  }
}

/** What is sealed, else what would be. */
export const scenariosOf = ({ graph, sealed }: Pick<RunSetting, 'graph' | 'sealed'>): readonly string[] =>
  sealed?.paths ?? readAttributes(graph.attrs, graphAttributes).values.holdout ?? [usualHoldout];

const listed = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
