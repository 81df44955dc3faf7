/** The beginning of what this process does in a run: the first state, committed where the run is resumed, and the records of the start. */
import { cursorOf } from '../../core/fork.ts';
import type { ResumedRecord } from '../../core/records/journal.ts';
import { layout } from '../../core/records/layout.ts';
import { holdoutFacts, type Manifest } from '../../core/records/manifest.ts';
import { eventWriter } from '../../engine/event-log.ts';
import type { Run } from '../../engine/run-context.ts';
import { backgroundFlush } from '../../run/background.ts';
import { installManifest } from '../../run/inputs.ts';
import { locksIn } from '../../run/lock.ts';
import type { FormerOwner } from '../../run/lock-file.ts';
import type { OpenExecution } from '../../run/run-journal.ts';
import type { Sandbox } from '../sandbox.ts';
import type { LoadedRun } from './own-run.ts';
import { type ResumeChange, storeResumeChange } from './resume-changes.ts';
import { lostTime } from './run-state.ts';

/** The state that the loop begins with; a resume is committed, with its changes of the manifest. */
export async function firstState(
  run: LoadedRun &
    Pick<Run, 'journal' | 'costs' | 'snapshot'> & { readonly change: ResumeChange | undefined },
) {
  const { runDir, recorded, resumed, lock, journal, snapshot, change, host } = run;
  const { checkpoint: loaded, manifestSha256 } = recorded.history;
  const spent = run.costs.run();
  const { completed_nodes, parked: parkedBefore, ...before } = loaded;
  const state: Run['state'] = { ...before, epoch: lock.epoch, spent };
  if (!resumed) return { value: { state, parkedBefore } };
  const owners = locksIn(runDir, loaded.epoch).filter(({ epoch }) => epoch < lock.epoch);
  const lost = lostTime(loaded, owners);
  const { open } = recorded.history;
  // What a killed process has begun of branches was cut in them, not before their join.
  const inBranches = open.filter(({ branch }) => branch !== undefined);
  const cut = (loaded.cut_ms ?? 0) + (inBranches.length > 0 ? 0 : lost);
  const at = host.clock.now().toISOString();
  const former = { manifest: recorded.manifest, sha256: manifestSha256 };
  const sha256 = change === undefined ? manifestSha256 : await storeResumeChange(runDir, change, former, at);
  const next = await journal.commit(
    {
      type: 'Resumed',
      at,
      elapsed_ms: loaded.elapsed_ms + lost,
      ...(cut === 0 ? {} : { cut_ms: cut }),
      spent,
      ...cutIn(loaded, inBranches, lost),
      snapshot: snapshot.id,
      manifest_sha256: sha256,
    },
    state,
  );
  await installManifest(runDir, sha256);
  return { value: { state: next, parkedBefore } };
}

/** Milliseconds of the executions that were cut in branches; `lost`: of those that this resume has found. */
function cutIn(
  loaded: Run['state'],
  open: readonly OpenExecution[],
  lost: number,
): Pick<ResumedRecord, 'branches'> {
  if (lost === 0 || open.length === 0) return {};
  const cut = ({ branch = '' }: OpenExecution) =>
    [branch, { cut_ms: (cursorOf(loaded, branch).cut_ms ?? 0) + lost }] as const;
  return { branches: Object.fromEntries(open.map(cut)) };
}

/** Writes to the journals and the log that the run starts, is resumed, or was forked. */
export async function startRecords(
  run: LoadedRun &
    Pick<Run, 'clock' | 'watcher' | 'events' | 'trace' | 'journal' | 'state' | 'replay'> & {
      readonly sandbox: Sandbox;
      readonly processesEnded: number;
    },
) {
  const { runDir, task, recorded, manifest, resumed, lock, state, host } = run;
  const { log } = host;
  host.onBegin?.(runDir);
  const writer = eventWriter(run);
  const { replay_of, holdout } = manifest;
  const answers =
    task.terms.agents.main !== undefined || (run.replay !== undefined && manifest.agent.name !== '');
  const agent = answers ? manifest.agent.describe : 'none';
  if (replay_of !== undefined)
    log('info', 'replaying: recorded answers are used', {
      of: replay_of.run_id,
      live: replay_of.live,
    });
  const { asked, used, why } = run.sandbox.account;
  await writer.trace({
    type: 'SessionInitialized',
    pipeline_path: manifest.pipeline_path,
    workdir: manifest.original_workdir,
    workspace: layout(runDir).workspace,
    resume: resumed,
    agent,
    sandbox: { asked, used, why },
    ...(holdout === undefined ? {} : { holdout: holdoutFacts(holdout) }),
  });
  if (resumed)
    await writer.trace({
      type: 'ResumeLoaded',
      last_completed_node: state.last_completed_node,
      last_outcome: state.last_outcome?.status ?? '',
      completed_nodes: recorded.history.checkpoint.completed_nodes,
      ...(lock.takenOver === undefined ? {} : { taken_over_from: previous(lock.takenOver) }),
      processes_ended: run.processesEnded,
    });
  const fork = forkPoint(manifest);
  // Also on the resume of a fork that was interrupted before its first node.
  if (fork !== undefined && state.steps === fork.steps) {
    const { last_completed_node, context } = state;
    await writer.trace({
      type: 'ForkLoaded',
      forked_from: fork.from,
      last_completed_node,
      context: { ...context },
    });
  }
  await writer.event({
    type: 'PipelineStarted',
    agent,
    resumed,
    ...(fork === undefined ? {} : { forked_from: fork.from }),
  });
  if (holdout !== undefined) log('info', 'sealed', holdoutFacts(holdout));
  await writer.trace({ type: 'PipelineStarted', start_node: state.next_node ?? '' });
  const flusher = backgroundFlush();
  return { value: { flusher }, close: () => flusher.close() };
}

/** The checkpoint that a run was forked from, and its number of steps. */
function forkPoint({ forked_from }: Manifest) {
  if (forked_from === undefined) return undefined;
  const { run_id, node, visit, before, seq } = forked_from;
  return { from: { run_id, node, visit, before }, steps: seq - 1 };
}

const previous = ({ pid, host, epoch, heartbeat }: FormerOwner) => ({ pid, host, epoch, heartbeat });
