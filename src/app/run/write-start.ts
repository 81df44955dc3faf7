/** The records at the start of a run: which run, agent, sandbox, and where it starts. */
import type { RunState } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import { type Manifest, toldOf } from '../../core/records/manifest.ts';
import type { EventWriter } from '../../engine/event-log.ts';
import type { FormerOwner } from '../../run/lock-file.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Begun, OwnedRun } from './owned-run.ts';

/** Writes to the journals and the log that the run starts, is resumed, or was forked. */
export async function writeStart(
  writer: EventWriter,
  { runDir, given, lock, host: { log } }: OwnedRun,
  { stands, manifest, resumed }: Begun,
  now: {
    readonly sandbox: Sandbox;
    /** Processes of an earlier engine that were ended. */
    readonly ended: number;
    readonly state: RunState;
    /** Whether recorded answers are used. */
    readonly replays: boolean;
  },
): Promise<void> {
  const { state } = now;
  const { replay_of, holdout } = manifest;
  const answers = given.casting.main !== undefined || (now.replays && manifest.agent.name !== '');
  const agent = answers ? manifest.agent.describe : 'none';
  if (replay_of !== undefined)
    log('info', 'replaying: recorded answers are used', {
      of: replay_of.run_id,
      live: replay_of.live,
    });
  const { asked, used, why } = now.sandbox.account;
  await writer.trace({
    type: 'SessionInitialized',
    pipeline_path: manifest.pipeline_path,
    workdir: manifest.original_workdir,
    workspace: layout(runDir).workspace,
    resume: resumed,
    agent,
    sandbox: { asked, used, why },
    ...(holdout === undefined ? {} : { holdout: toldOf(holdout) }),
  });
  if (resumed)
    await writer.trace({
      type: 'ResumeLoaded',
      last_completed_node: state.last_completed_node,
      last_outcome: state.last_outcome?.status ?? '',
      completed_nodes: stands.history.checkpoint.completed_nodes,
      ...(lock.takenOver === undefined ? {} : { taken_over_from: previous(lock.takenOver) }),
      processes_ended: now.ended,
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
  if (holdout !== undefined) log('info', 'sealed', toldOf(holdout));
  await writer.trace({ type: 'PipelineStarted', start_node: state.next_node ?? '' });
}

/** The checkpoint that a run was forked from, and its number of steps. */
function forkPoint({ forked_from }: Manifest) {
  if (forked_from === undefined) return undefined;
  const { run_id, node, visit, before, seq } = forked_from;
  return { from: { run_id, node, visit, before }, steps: seq - 1 };
}

const previous = ({ pid, host, epoch, heartbeat }: FormerOwner) => ({ pid, host, epoch, heartbeat });
