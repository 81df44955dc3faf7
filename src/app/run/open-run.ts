/** Opens a run for its owner: its state, workspace, journals, budget, agents and settings. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createAgents } from '../../agents/index.ts';
import type { Refusal } from '../../core/diagnostic.ts';
import { backendOf } from '../../core/pipeline.ts';
import type { RunState } from '../../core/records/checkpoint.ts';
import { historyLayout, layout } from '../../core/records/layout.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import { startRecordIn } from '../../core/records/visit.ts';
import { withFlags } from '../../core/settings/typing.ts';
import { allPassed } from '../../engine/environment.ts';
import { eventWriter } from '../../engine/event-log.ts';
import { executeHere } from '../../engine/layers/index.ts';
import type { Run } from '../../engine/run-context.ts';
import { openHoldout } from '../../holdout/mount.ts';
import { realEvery } from '../../platform/clock.ts';
import { beforeWrite, Superseded } from '../../platform/files/fence.ts';
import { removeTree } from '../../platform/files/remove.ts';
import { packageRoot } from '../../platform/package.ts';
import { realSpawn } from '../../platform/process/spawn.ts';
import { OutOfMemory } from '../../platform/process/spawn-error.ts';
import { confining } from '../../platform/sandbox/spawn.ts';
import { backgroundFlush } from '../../run/background.ts';
import { settleChange } from '../../run/inputs.ts';
import { openLiveTexts } from '../../run/live-texts.ts';
import { livingOwners, locksIn } from '../../run/lock.ts';
import type { FormerOwner } from '../../run/lock-file.ts';
import { marksByPath } from '../../run/marks.ts';
import { nextCommand } from '../../run/next-command.ts';
import { openRunJournal } from '../../run/run-journal.ts';
import { schemaOf } from '../inputs.ts';
import { titleOf } from '../inspect/title.ts';
import { kinds } from '../kinds.ts';
import { sandboxOfRun } from '../sandbox.ts';
import { keptSecrets } from '../secrets.ts';
import type { Finished } from '../types.ts';
import { auditOf } from './audit-gate.ts';
import { openRunBudget } from './budget.ts';
import { openRunExtensions, type RunExtensions } from './extensions.ts';
import { finishedRun, openEndRecords, removeLeftovers } from './finish-run.ts';
import type { Begun, OwnedRun } from './owned-run.ts';
import { restoreWorkspace } from './restore-workspace.ts';
import { prepareResumeChange } from './resume-changes.ts';
import { loadRunState, lostTime, processMarker, type RunStanding } from './run-state.ts';
import { endLeftovers } from './unchanged-inputs.ts';
import { writeStart } from './write-start.ts';

/** What is the same for all nodes. */
type RunSettings = Omit<
  Run,
  | 'kinds'
  | 'execute'
  | 'snapshots'
  | 'state'
  | 'snapshot'
  | 'caps'
  | 'costs'
  | 'events'
  | 'trace'
  | 'journal'
  | 'flusher'
  | 'signal'
  | 'stopAfter'
>;

type Opened<T extends (...args: never[]) => Promise<unknown>> = Exclude<Awaited<ReturnType<T>>, Refusal>;

/** Opens the run for the loop, or tells its end if it has finished. */
export async function openParts(run: OwnedRun) {
  const begun = await openState(run);
  if (!('stands' in begun)) return begun;
  const place = await openPlace(run, begun);
  if ('problems' in place) return place;
  const { graph, runDir, given, host, sealed } = run;
  const { stands, manifest } = begun;
  const { snapshots, snapshot } = place;
  const { variables } = given.inputs;
  const { history } = stands;
  const about = { graph, runDir, manifest, history, variables, snapshots, sealed };
  const extensions = await openRunExtensions(about, host);
  if ('problems' in extensions) return extensions;
  const records = await openRecords(run, begun, extensions);
  const setting = await openSetting(run, begun, place, extensions);
  const state = await beginState(run, begun, place, records);
  const { events, trace, journal, money, marks } = records;
  host.begun?.(runDir);
  const writer = eventWriter({ ...setting, events, trace, journal });
  await writeStart(writer, run, begun, { ...place, state, replays: setting.replay !== undefined });
  const flusher = backgroundFlush();
  run.open.push(flusher);
  const prepared: Run = {
    ...setting,
    kinds,
    execute: executeHere,
    snapshots,
    state,
    snapshot,
    caps: money.caps,
    costs: money.costs,
    events,
    trace,
    journal: ownersJournal(run, manifest, journal),
    flusher,
    signal: run.signal,
    parkedBefore: history.checkpoint.parked,
    waited: given.waited,
    audit: auditOf(graph, runDir, manifest, host),
    stopAfter: host.env['ATTRACTION_TEST_STOP_AFTER_NODE'] || undefined,
  };
  return { prepared, manifest, marks, visits: () => journal.visits() };
}

async function openState(run: OwnedRun): Promise<Begun | Finished | Refusal> {
  const { runDir, given, host, lock } = run;
  // With a later epoch another process has had the run in between.
  const made = lock.epoch === 1 ? given.made : undefined;
  const stands = made?.stands ?? (await loadRunState(runDir));
  if ('problems' in stands) return stands;
  const manifest = given.change?.manifest ?? stands.manifest;
  const finished = await finishedRun(manifest, stands.history, runDir, host);
  if (finished !== undefined) return finished;
  const interrupted = { status: 'interrupted', exitNode: null, failed: undefined, byModel: false } as const;
  const called = host.called ?? { program: 'factory' };
  run.again = await nextCommand(manifest, interrupted, runDir, host.cwd, called);
  host.parting?.(run.again);
  host.watcher.opened?.({ dir: runDir, title: await titleOf(runDir, manifest, run.graph) });
  // Another process may have resumed the run between its creation and our lock.
  return { stands, taken: made?.taken, manifest, resumed: given.resumed || lock.epoch > 1 };
}

/** Opens the holdout, the sandbox and the workspace; on a resume after it has removed what an earlier engine left. */
async function openPlace(run: OwnedRun, { stands, taken, manifest, resumed }: Begun) {
  const { graph, runDir, given, flags, host } = run;
  const holdout = await openHoldout(runDir, manifest, host.env);
  if ('problems' in holdout) return holdout;
  run.sealed = holdout.sealed;
  const sandbox = await sandboxOfRun(graph, manifest, dirname(runDir), flags.sandbox, host);
  if ('problems' in sandbox) return sandbox;
  const { account } = sandbox;
  const marker = processMarker(runDir, manifest);
  const ended = resumed ? await clearLeftovers(run, stands, manifest) : 0;
  if (account.asked === 'auto' && account.used !== 'bwrap')
    host.log('warn', `nodes run without a sandbox: ${account.why}`, { missing: account.missing });
  const enforcing = { ...manifest, sandbox: account, not_enforced: account.missing };
  const change = given.change && { ...given.change, manifest: enforcing };
  const restored = await restoreWorkspace(runDir, stands.history.checkpoint, { resumed, change }, taken);
  return 'problems' in restored ? restored : { ...restored, sandbox, marker, ended, change };
}

/** Ends processes and removes files of an earlier engine. Answers the number of processes. */
async function clearLeftovers(
  { runDir, lock, host: { log } }: OwnedRun,
  stands: RunStanding,
  manifest: Manifest,
) {
  const { takenOver } = lock;
  if (takenOver !== undefined) {
    const { pid, host, how, heartbeat } = takenOver;
    log('warn', `took the run over: its previous owner ${ownersEnd[how]}`, { pid, host, heartbeat });
  }
  const { history } = stands;
  const ended = await endLeftovers(runDir, manifest, history.checkpoint, livingOwners(runDir));
  await removeLeftovers(runDir);
  await settleChange(runDir, history.manifestSha256);
  if (ended > 0) log('warn', 'ended processes that an earlier engine left running', { processes: ended });
  const { scratch } = layout(runDir);
  beforeWrite(scratch);
  await removeTree(scratch);
  return ended;
}

const ownersEnd: Readonly<Record<FormerOwner['how'], string>> = {
  gone: 'has ended',
  silent: 'missed its heartbeat',
  stopped: 'is stopped, and changes nothing when it continues',
};

/** Opens the journals and the budget. */
async function openRecords(run: OwnedRun, begun: Begun, { exchanges }: RunExtensions) {
  const { runDir, given, host, lock, open } = run;
  const { stands, manifest, resumed } = begun;
  const { history } = stands;
  if (exchanges !== undefined) open.push(exchanges);
  const { events, trace } = await openEndRecords(runDir, stands, lock.epoch, host);
  open.push(events, trace);
  const marks = () => marksByPath(exchanges?.mark());
  const options = { runId: manifest.run_id, epoch: lock.epoch };
  const journal = await openRunJournal(runDir, options, history, marks);
  open.push(journal);
  const { calls, checkpoint: loaded } = history;
  const about = { manifest, calls, loaded, resumed, caps: given.caps };
  const money = await openRunBudget(runDir, journal, about, host);
  open.push(money);
  return { events, trace, marks, journal, money };
}

async function openSetting(
  { graph, runDir, given, flags, host, lock, sealed, open }: OwnedRun,
  { stands, manifest }: Begun,
  { sandbox, marker }: Opened<typeof openPlace>,
  extensions: RunExtensions,
): Promise<RunSettings> {
  const at = layout(runDir);
  const { maxVisits, commandTimeoutMs } = given.caps;
  const { variables, prompts, inputFiles, schemas } = given.inputs;
  const { env, clock } = host;
  const readText = (path: string) => readFile(path, 'utf8');
  const live = openLiveTexts(runDir, clock);
  open.push(live);
  const agents = await createAgents(given.casting.plans, { env, clock, readFile: readText });
  const setting: RunSettings = {
    graph: withFlags(graph, { maxVisits, modelCallMs: commandTimeoutMs }),
    runId: manifest.run_id,
    runDir,
    workspace: at.workspace,
    start: startRecordIn(stands.history.records).snapshot,
    clock,
    spawn: confining(realSpawn, sandbox.ladder),
    ownSteps: host.ownSteps,
    confinement: sandbox.confinement,
    env,
    envPass: [...manifest.env_pass, ...flags.envPass],
    secrets: keptSecrets(env, manifest).secrets,
    marker: manifest.marker,
    processMarker: marker,
    epoch: lock.epoch,
    factoryBin: join(packageRoot(), 'dist', 'bin'),
    node: process.execPath,
    variables,
    prompts,
    inputFiles,
    commandTimeoutMs,
    schema: (reference) => schemaOf(reference, schemas),
    agentFor: (node) => agents.get(backendOf(node)),
    historyEnv: manifest.git === undefined ? {} : historyEnvironment(at.history, at.workspace),
    watcher: live.watching(host.watcher),
    every: realEvery,
    log: host.log,
    outOfMemory: new OutOfMemory(),
    ...extensions,
    sealed,
  };
  for (const passed of allPassed(setting))
    host.log('warn', 'env_pass="*": all secrets of the environment are passed', passed);
  return setting;
}

const historyEnvironment = (history: string, workspace: string): Readonly<Record<string, string>> => ({
  GIT_DIR: history,
  GIT_WORK_TREE: workspace,
  GIT_INDEX_FILE: historyLayout(history).index,
});

/** The state that the loop begins with; a resume is committed, with its changes of the manifest. */
async function beginState(
  { runDir, host, lock }: OwnedRun,
  { stands, resumed }: Begun,
  { change, snapshot }: Opened<typeof openPlace>,
  { journal, money }: Opened<typeof openRecords>,
): Promise<RunState> {
  const { checkpoint: loaded, manifestSha256 } = stands.history;
  const spent = money.costs.run();
  const { completed_nodes, parked, ...before } = loaded;
  const state: RunState = { ...before, epoch: lock.epoch, spent };
  if (!resumed) return state;
  const owners = locksIn(runDir, loaded.epoch).filter(({ epoch }) => epoch < lock.epoch);
  const lost = lostTime(loaded, owners);
  const cut = (loaded.cut_ms ?? 0) + lost;
  const sha256 =
    change === undefined ? manifestSha256 : await prepareResumeChange(runDir, change, manifestSha256);
  const next = await journal.commit(
    {
      type: 'Resumed',
      at: host.clock.now().toISOString(),
      elapsed_ms: loaded.elapsed_ms + lost,
      ...(cut === 0 ? {} : { cut_ms: cut }),
      spent,
      snapshot: snapshot.id,
      manifest_sha256: sha256,
    },
    state,
  );
  await settleChange(runDir, sha256);
  return next;
}

/** The journal for the loop: a commit is refused as soon as another process has the run. */
const ownersJournal = (
  { runDir, lock }: OwnedRun,
  { run_id }: Manifest,
  journal: Opened<typeof openRecords>['journal'],
): Run['journal'] => ({
  note: (line) => journal.note(line),
  mark: () => journal.mark(),
  commit: async (line, before) => {
    lock.assertOwner();
    if (!(await lock.stillOwner())) {
      const { locks } = layout(runDir);
      throw new Superseded(
        `the lock of run ${run_id} is gone: ${locks} was removed or taken over; this process stops`,
      );
    }
    return journal.commit(line, before);
  },
});
