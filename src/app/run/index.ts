/** The life of a run: it is created from a seed and carried on to its end. A start, a fork and a replay differ in the seed only; a
 *  resume carries on a run that exists. */
import type { Refusal } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import type { Moment } from '../../run/moment.ts';
import type { Finished, Host, RunFlags, Where } from '../types.ts';
import { carryOn } from './carry-on.ts';
import { create, type RunSeed } from './create.ts';
import { type ReplayRequest, replaySeed } from './replay-seed.ts';
import { runSeed } from './run-seed.ts';
import { workdirSeed } from './workdir-seed.ts';

/** Starts a run of `graph` and runs it to its end. Leaves nothing behind if it refuses. */
export async function startRun(
  graph: Graph,
  where: Where,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const seed = await workdirSeed(graph, where, flags, host);
  return 'problems' in seed ? seed : live(where, seed, flags, host);
}

/** Starts a run from the checkpoint `moment` of the run in `runDir`, which is only read; `graph` replaces its pipeline. */
export async function forkRun(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  where: Where,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const seed = await runSeed(runDir, moment, graph, flags, host);
  return 'problems' in seed ? seed : live(where, seed, flags, host);
}

/** Replays the run in `runDir` as a new run; the recorded run is only read. */
export async function replayRun(
  runDir: string,
  request: ReplayRequest,
  where: Where,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const seed = await replaySeed(runDir, request, flags, host);
  return 'problems' in seed ? seed : live(where, seed, flags, host);
}

/** Resumes a run from its checkpoint. `graph` is the present pipeline, if it can be read; undefined for a run that keeps its
 *  texts. */
export function resumeRun(
  runDir: string,
  graph: Graph | undefined,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  return carryOn({ runDir, graph }, flags, host);
}

async function live(where: Where, seed: RunSeed, flags: RunFlags, host: Host): Promise<Finished | Refusal> {
  const run = await create(where, seed, flags, host);
  return 'problems' in run ? run : carryOn(run, flags, host);
}
