/** The wiring proper: lock, snapshots, journals, agents and the loop, put together for one run. */

import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent } from '../agents/agent.ts';
import { createAgent } from '../agents/index.ts';
import { inHistory } from '../builder/in-history.ts';
import { localAttempt } from '../engine/attempt.ts';
import type { Caps } from '../engine/caps.ts';
import type { Casting, Refusal } from '../engine/casting.ts';
import { backendOf } from '../engine/casting.ts';
import { nextCommand, resultOf } from '../engine/result.ts';
import { endLeftovers } from '../engine/resume.ts';
import { run, teller } from '../engine/run.ts';
import type { RunSetting } from '../engine/site.ts';
import type { Texts } from '../engine/texts.ts';
import { schemaOf } from '../engine/texts.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import type { Graph } from '../model/graph.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import type { RunResult } from '../model/result.ts';
import { kinds } from '../nodes/index.ts';
import { loadCheckpoint, saveCheckpoint } from '../store/checkpoint.ts';
import { openJournal } from '../store/journal.ts';
import { acquireLock } from '../store/lock.ts';
import { readManifest } from '../store/run-store.ts';
import { DiskStop, diskTrouble } from '../system/disk-trouble.ts';
import { systemWords, writeFileAtomic, writeJson } from '../system/files.ts';
import { hasNeighbours, removeGitLocks, removeNeighbours } from '../system/leftovers.ts';
import { packageRoot } from '../system/package.ts';
import { realSpawn } from '../system/processes.ts';
import { openSnapshots } from '../workspace/snapshots.ts';
import type { Doors, Finished, RunFlags } from './types.ts';
import { keptScript, refused } from './types.ts';

/** What a resume changes about a run before it goes on. */
export type Change = {
  readonly manifest: Manifest;
  /** Texts of file variables, by name. */
  readonly files: Readonly<Record<string, string>>;
  readonly script: string | undefined;
};

const waitFor = 'wait for its end, or stop it with Ctrl-C where it runs; factory runs tells how it stands';

/** Takes the run over, brings its workspace to the checkpoint, and runs it to its end. */
export async function drive(
  graph: Graph,
  runDir: string,
  given: { casting: Casting; inputs: Texts; caps: Caps; resumed: boolean; change?: Change },
  flags: RunFlags,
  doors: Doors,
): Promise<Finished | Refusal> {
  const at = layout(runDir);
  const answer = await acquireLock(runDir, { clock: doors.clock });
  if (answer.kind === 'refused') return refused('run-locked', answer.why, waitFor);
  const { lock } = answer;
  try {
    const readRun = await readManifest(runDir);
    if (!readRun.ok) return refused('manifest', readRun.why);
    const manifest = given.change?.manifest ?? readRun.manifest;
    const read = await loadCheckpoint(at.checkpoint);
    if (!read.ok) return refused('checkpoint', read.why);
    const loaded = read.checkpoint;
    let ended = 0;
    if (given.resumed) {
      if (lock.takenOver !== undefined) {
        doors.log('warn', 'took the run over from an engine that is gone', {
          pid: lock.takenOver.pid,
          host: lock.takenOver.host,
        });
      }
      ended = await endLeftovers(runDir, manifest, loaded);
      await tidy(runDir);
      if (ended > 0)
        doors.log('warn', 'ended processes that a killed engine left running', { processes: ended });
    }
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    if (loaded.snapshot === null) throw new Error('Internal: a checkpoint without a snapshot');
    let snapshot = await snapshots.load(loaded.snapshot);
    if (given.resumed) {
      await snapshots.restore(snapshot);
      if (given.change !== undefined) await carryOut(given.change, runDir);
      snapshot = await snapshots.take(snapshot);
    }
    const options = { runId: manifest.run_id, epoch: lock.epoch };
    const events = await openJournal(at.events, options);
    const trace = await openJournal(at.trace, options);
    const agents = new Map<string, Agent>();
    for (const [backend, plan] of given.casting.plans) {
      agents.set(
        backend,
        createAgent(plan, { env: doors.env, clock: doors.clock, readFile: (path) => readFile(path, 'utf8') }),
      );
    }
    const main = given.casting.main;
    const setting: RunSetting = {
      graph,
      runId: manifest.run_id,
      runDir,
      workspace: at.workspace,
      clock: doors.clock,
      spawn: realSpawn,
      env: doors.env,
      envPass: [...manifest.env_pass, ...flags.envPass],
      marker: manifest.marker,
      factoryBin: join(packageRoot(), 'dist', 'bin'),
      node: process.execPath,
      variables: given.inputs.variables,
      prompts: given.inputs.prompts,
      commandTimeoutMs: given.caps.commandTimeoutMs,
      schema: (reference) => schemaOf(reference, given.inputs.schemas),
      agentFor: (node) => agents.get(backendOf(node)),
      historyEnv: manifest.git === undefined ? {} : historyEnvironment(at.history, at.workspace),
      watcher: doors.watcher,
      log: doors.log,
    };
    const state: Checkpoint = {
      ...loaded,
      epoch: lock.epoch,
      status: 'running',
      ended: null,
      snapshot: snapshot.id,
      elapsed_ms: loaded.elapsed_ms + lostTime(loaded, lock.takenOver),
    };
    const tell = teller({ setting, events, trace });
    const agent = main === undefined ? 'none' : manifest.agent.describe;
    await tell.trace({
      type: 'SessionInitialized',
      pipeline_path: manifest.pipeline_path,
      workdir: manifest.original_workdir,
      workspace: at.workspace,
      resume: given.resumed,
      agent,
    });
    if (given.resumed) {
      await tell.trace({
        type: 'ResumeLoaded',
        last_completed_node: state.last_completed_node,
        last_outcome: state.last_outcome?.status ?? '',
        completed_nodes: state.completed_nodes,
        ...(lock.takenOver === undefined ? {} : { taken_over_from: lock.takenOver }),
        processes_ended: ended,
      });
    }
    await tell.event({ type: 'PipelineStarted', agent, resumed: given.resumed });
    await tell.trace({ type: 'PipelineStarted', start_node: state.next_node ?? '' });
    await tell.flush();
    const end = await run({
      setting,
      kinds,
      attempt: localAttempt(setting, snapshots),
      state,
      snapshot,
      caps: given.caps,
      events,
      trace,
      save: async (next) => {
        if (!(await lock.stillOwner()))
          throw new Error(`another engine has taken over run ${manifest.run_id}; this one stops`);
        await saveCheckpoint(at.checkpoint, next);
      },
      signal: doors.signal,
      stopAfter: doors.env['ATTRACTION_TEST_STOP_AFTER_NODE'] || undefined,
    });
    await events.close();
    await trace.close();
    const result = await resultOf(manifest, runDir, end, doors.cwd, doors.called);
    await writeJson(at.result, result, flushed);
    return { result, code: end.ending.code };
  } catch (error) {
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    throw await diskStop(runDir, trouble, error, doors);
  } finally {
    // A lock that cannot be written any more is free as soon as this process has ended.
    await lock.release().catch((error: unknown) => {
      doors.log('warn', 'the lock of the run was not given back', { why: systemWords(error) });
    });
  }
}

/** Where an engine was killed after the run had ended, but before it had said how: says it, tidies up, and puts the
 *  workspace right, which a power cut may have spoilt. `snapshot` is that of the last checkpoint. Nothing changes in a run
 *  that is whole, or that its owner is just bringing to its end. */
export async function completeResult(
  runDir: string,
  snapshot: string | null,
  result: RunResult,
  doors: Doors,
): Promise<void> {
  const at = layout(runDir);
  if ((await isThere(at.result)) && !(await hasNeighbours(at.locks))) return;
  const answer = await acquireLock(runDir, { clock: doors.clock });
  if (answer.kind === 'refused') return;
  try {
    await tidy(runDir);
    if (await isThere(at.result)) return;
    const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.snapshots });
    if (snapshot !== null) await snapshots.restore(await snapshots.load(snapshot));
    await writeJson(at.result, result, flushed);
  } finally {
    await answer.lock.release();
  }
}

/** `result.json` says that the run is whole: it is on the disk, or it is not there. */
const flushed = { sync: true, syncFolder: true } as const;

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Removes what a killed engine has left of files that it was just replacing. The workspace is restored as a whole. */
async function tidy(runDir: string): Promise<void> {
  const at = layout(runDir);
  const apart = [at.workspace, at.history];
  const folders = (await readdir(runDir, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(runDir, entry.name))
    .filter((path) => !apart.includes(path));
  for (const folder of [runDir, join(at.snapshots, 'trees'), ...folders]) await removeNeighbours(folder);
  await removeGitLocks(at.history);
}

/** What the person is told: the file, the trouble, where the run stands and how it goes on. */
async function diskStop(
  runDir: string,
  { path, error }: { readonly path: string | undefined; readonly error: Error },
  cause: unknown,
  doors: Doors,
): Promise<DiskStop> {
  const read = await readManifest(runDir).catch(() => undefined);
  const ended = { status: 'failed', exitNode: null, failed: undefined, byModel: false } as const;
  const next =
    read?.ok === true
      ? await nextCommand(read.manifest, ended, runDir, doors.cwd, doors.called ?? { program: 'factory' })
      : 'start a new run';
  const what = `${path ?? runDir}: ${systemWords(error)}; the run stands where its checkpoint says`;
  return new DiskStop(what, `mend that (space, permissions, the disk itself), then: ${next}`, cause);
}

async function carryOut(change: Change, runDir: string): Promise<void> {
  const at = layout(runDir);
  for (const [name, text] of Object.entries(change.files)) {
    const stored = change.manifest.variables[name]?.file?.stored;
    if (stored === undefined) continue;
    await writeFileAtomic(join(at.inputs, stored), text);
    await writeFileAtomic(join(at.workspace, inWorkspace.inputs, stored), text);
  }
  if (change.script !== undefined) await writeFileAtomic(join(at.inputs, keptScript), change.script);
  await writeJson(at.manifest, change.manifest, { sync: true });
}

/** Milliseconds that a killed engine worked after its last checkpoint, as far as its last sign of life tells. */
const lostTime = (loaded: Checkpoint, before: { readonly heartbeat: string } | undefined): number =>
  before === undefined ? 0 : Math.max(0, Date.parse(before.heartbeat) - Date.parse(loaded.at)) || 0;

const historyEnvironment = (history: string, workspace: string): Readonly<Record<string, string>> => ({
  GIT_DIR: history,
  GIT_WORK_TREE: workspace,
  GIT_INDEX_FILE: inHistory(history).index,
});
