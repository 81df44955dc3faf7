/** Starts the programs of one attempt: with the node's environment, in its sandbox, within its time. */
import { dirname, join } from 'node:path';
import type { AgentProgram } from '../core/contracts/agent.ts';
import type { NodeProcesses, StageProgram } from '../core/contracts/node-kind.ts';
import type { Exit, ProcessId, Spawn, SpawnRequest } from '../core/contracts/process.ts';
import { type Confinement, homeAndTmpOf } from '../core/contracts/sandbox.ts';
import { commandEnvironment } from '../core/policy/confinement.ts';
import { holdoutVariable } from '../core/policy/holdout-paths.ts';
import { epochVariable, layout } from '../core/records/layout.ts';
import type { RanCommand } from '../core/records/visit.ts';
import { pinnedIn, seesHoldout } from '../holdout/mount.ts';
import { WorkspaceError } from '../platform/files/workspace-error.ts';
import { noteProcess } from '../run/node-directory.ts';
import type { Lookout } from '../workspace/walk.ts';
import { runAgentProgram } from './agent-process.ts';
import { isInBranchFolder, placeInSandbox } from './branch-folder.ts';
import {
  confinementOf,
  sandboxLevelOf,
  scenarioVariables,
  scratchOfNode,
  strengthVariables,
} from './confinement.ts';
import { epochValue, seenBy, withOwnWords } from './environment.ts';
import type { LayerContext } from './layers/layer.ts';
import { liveOutput } from './live-output.ts';
import { note } from './node-records.ts';
import { inThisProcess } from './own-step.ts';
import type { Run } from './run-context.ts';

export interface OpenProcesses extends NodeProcesses {
  /** The programs that were started, with the files of their output. */
  readonly started: readonly { readonly confinement: Confinement; readonly files: readonly string[] }[];
  /** Programs of tools and checks that have ended. */
  readonly ran: readonly RanCommand[];
}

export function openProcesses(context: LayerContext): OpenProcesses {
  const started: OpenProcesses['started'][number][] = [];
  const ran: RanCommand[] = [];
  const { run, node, nodeDir } = context;
  const filesOf = (program: StageProgram | AgentProgram) =>
    [join(nodeDir, program.stdoutName), join(nodeDir, program.stderrName)] as const;
  return {
    started,
    ran,
    homeAndTmp: homeAndTmpOf(sandboxLevelOf(run, node)),
    historyEnv: historyEnvOf(run),
    async run(program) {
      const left = timeLeft(context);
      if (left <= 0) return { kind: 'timed_out', afterMs: context.attempt.timeout.ms };
      await beforeProgram(context);
      const confinement = toolConfinement(
        context,
        program,
        started.flatMap(({ files }) => files),
      );
      if (ownSpawn(context, program) === undefined) started.push({ confinement, files: filesOf(program) });
      const ended = await runTool(context, program, { confinement, files: filesOf(program), left });
      await afterProgram(context);
      note(ran, program, ended, context.secrets.mask);
      return ended;
    },
    async runAgent(program, stop) {
      const ended = await runAgentsProgram(context, program, stop, (confinement) =>
        started.push({ confinement, files: filesOf(program) }),
      );
      await afterProgram(context);
      await context.exchange?.program(program, ended);
      return ended.kind === 'timed_out' && ended.afterMs !== program.timeoutMs
        ? { kind: 'timed_out', afterMs: context.attempt.timeout.ms }
        : ended;
    },
    async agentSandbox() {
      const rung = sandboxLevelOf(run, node);
      const nests = rung !== 'bwrap' || (await run.confinement?.nests()) !== false;
      const scratch = scratchOfNode(run.runDir, node.id);
      const isElsewhere = rung === 'bwrap' && isInBranchFolder(run);
      return { rung, nests, scratch, ...(isElsewhere ? { workspace: placeInSandbox(run) } : {}) };
    },
  };
}

/** What the environment of a node's processes holds, and of no others that run at the same time. */
const markOf = (run: Run): string => `${epochVariable(run.processMarker)}=${epochValue(run)}`;

/** Git sees the folder of a branch as the work tree; the index, which belongs to the run's workspace, is not written. */
const historyEnvOf = (run: Run): Run['historyEnv'] =>
  run.historyEnv['GIT_WORK_TREE'] === undefined || !isInBranchFolder(run)
    ? run.historyEnv
    : { ...run.historyEnv, GIT_WORK_TREE: run.workspace, GIT_OPTIONAL_LOCKS: '0' };

/** For a step of our own that this process carries out; it is not confined. */
const ownSpawn = ({ run }: LayerContext, { own }: StageProgram): Spawn | undefined =>
  own === undefined || run.ownSteps === undefined ? undefined : inThisProcess(run.ownSteps, own);

const timeLeft = ({ run, deadline }: LayerContext): number => deadline - run.clock.monotonic();

/** Programs read the run's context and their budget in the node's directory. */
async function beforeProgram({ records, state, budget, nodeDir }: LayerContext): Promise<void> {
  await records.keepLocked('context.json', `${JSON.stringify(state.context, null, 2)}\n`);
  await budget.calls.share(nodeDir);
}

async function afterProgram({ records, budget, nodeDir, attempt, secrets }: LayerContext): Promise<void> {
  await records.putBack();
  await budget.calls.gather(nodeDir, attempt.number, secrets.mask);
}

const spawned =
  ({ run, nodeDir, visit, attempt }: LayerContext) =>
  (process: ProcessId): Promise<void> =>
    noteProcess(nodeDir, { visit, attempt: attempt.number, marker: run.marker, process });

/** The variables that describe the attempt, added to an environment. */
const described = (env: Readonly<Record<string, string>>, context: LayerContext) => {
  const { run, node, nodeDir, visit, attempt, before, budget } = context;
  const promptOnly = node.settings.access === undefined ? [] : run.promptOnly?.(run.graph);
  const at = {
    ...{ node, visit, attempt: attempt.number, snapshotId: before.id, desk: budget.calls },
    ...(promptOnly === undefined ? {} : { promptOnly }),
  };
  return withOwnWords(env, run, at, nodeDir);
};

const holdoutOf = ({ run, node }: LayerContext) =>
  run.sealed !== undefined && seesHoldout(node, 'tool') ? run.sealed : undefined;

function toolConfinement(
  context: LayerContext,
  program: StageProgram,
  printed: readonly string[],
): Confinement {
  const { run, node, nodeDir, checked } = context;
  const holdout = holdoutOf(context);
  const pinned = holdout === undefined ? [] : pinnedIn(run.workspace, holdout);
  return confinementOf(run, node, {
    check: program.check === true,
    history: program.env?.['GIT_DIR'] !== undefined || context.survivors !== undefined,
    nodeDir,
    printed,
    shown: context.baseTree === undefined ? [] : [context.baseTree],
    writable: context.survivors === undefined ? [] : [dirname(context.survivors)],
    pinned: [...new Set([...pinned, ...(checked?.pinned ?? [])])].sort(),
    frozen: checked?.frozen ?? [],
  });
}

/** In a check Python neither reads nor writes bytecode in the workspace: an agent could put another program there. */
const bytecodeFolder = ({ rung, scratch }: Confinement): string =>
  rung === 'bwrap' ? '/tmp/.pycache' : join(scratch, 'pycache');

async function runTool(
  context: LayerContext,
  program: StageProgram,
  {
    confinement,
    files: [stdoutFile, stderrFile],
    left,
  }: {
    readonly confinement: Confinement;
    readonly files: readonly [string, string];
    readonly left: number;
  },
): Promise<Exit> {
  const { run, node, secrets, attempt, signal, records } = context;
  const limit = Math.min(left, (program.check === true ? run.command_timeout : undefined) ?? left);
  const { env, mask } = secrets.forTool(program.argv.join(' '));
  const live = liveOutput(context, [stdoutFile, stderrFile]);
  const isSpawned = spawned(context);
  const holdout = holdoutOf(context);
  const own = ownSpawn(context, program);
  const seen = described(env, context);
  const request: SpawnRequest = {
    argv: program.argv,
    cwd: program.cwd === undefined ? run.workspace : join(run.workspace, program.cwd),
    env: {
      ...(own === undefined ? seenBy(confinement, seen) : seen),
      ...(holdout === undefined ? {} : { [holdoutVariable]: holdout.paths.join(',') }),
      ...scenarioVariables(run.graph, node, run.confinement),
      ...(context.baseTree === undefined ? {} : { FACTORY_BASE: context.baseTree }),
      ...(context.survivors === undefined
        ? {}
        : strengthVariables(node, {
            survivors: context.survivors,
            history: layout(run.runDir).history,
            leftMs: left,
          })),
      ...(program.check === true ? commandEnvironment(env) : {}),
      ...(context.checked === undefined ? {} : { PYTHONPYCACHEPREFIX: bytecodeFolder(confinement) }),
      ...program.env,
    },
    confinement,
    ...(program.stdin === undefined ? {} : { stdin: program.stdin }),
    stdoutFile,
    stderrFile,
    mask,
    timeoutMs: limit,
    signal,
    marker: markOf(run),
    started(process) {
      live.begin();
      return isSpawned(process);
    },
  };
  const ended = await (own ?? run.spawn).run(request).finally(live.end);
  records.reopen();
  return ended.kind === 'timed_out'
    ? { kind: 'timed_out', afterMs: limit < left ? limit : attempt.timeout.ms }
    : ended;
}

async function runAgentsProgram(
  context: LayerContext,
  program: AgentProgram,
  stop: AbortSignal | undefined,
  starts: (confinement: Confinement) => void,
): Promise<Exit> {
  const { run, node, nodeDir, secrets, attempt, signal, files, hidden, lookout } = context;
  // The agent's own timeout replaces the default, but not a timeout that was set for the node or the run.
  const most =
    program.timeoutMs !== undefined && !attempt.timeout.explicit
      ? attempt.timeout.runLeftMs
      : timeLeft(context);
  return runAgentProgram(program, {
    spawn: run.spawn,
    runDir: run.runDir,
    workspace: run.workspace,
    nodeDir,
    environment(keys, servers) {
      const { env, mask } = secrets.forAgent(program.argv.join(' '), keys, servers);
      return { env: described(env, context), mask };
    },
    every: run.every,
    printedSecret: secrets.printed,
    confinement(declared) {
      const confinement = confinementOf(run, node, { check: false, history: false, program: declared });
      starts(confinement);
      return confinement;
    },
    readScope: node.settings.read_scope ?? [],
    keep: files.keep,
    timeoutMs: Math.min(program.timeoutMs ?? Number.POSITIVE_INFINITY, most),
    signal: stop === undefined ? signal : AbortSignal.any([signal, stop]),
    marker: run.branch === undefined ? `FACTORY_RUN_MARKER=${run.processMarker}` : markOf(run),
    async beforeSpawn() {
      await beforeProgram(context);
      if (lookout !== undefined) beginLook(lookout);
    },
    spawned: spawned(context),
    wasHidden(paths, made) {
      // One by one: a call takes a limited number of arguments.
      for (const path of paths) hidden.paths.push(path);
      for (const path of made) hidden.made.push(path);
    },
  });
}

/** A workspace that cannot be listed is reported when the attempt has ended. */
function beginLook(look: Lookout): void {
  try {
    look.begin();
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
  }
}
