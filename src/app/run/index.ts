/** The life of a run: it is created from a seed and carried on to its end. A start, a fork and a replay differ in the seed only; a
 *  resume carries on a run that exists. */
import { type Refusal, refused } from '../../core/diagnostic.ts';
import type { Graph } from '../../core/graph.ts';
import { workdirOf } from '../../core/pipeline.ts';
import type { Moment } from '../../run/moment.ts';
import { checkDirs } from '../../workspace/roots.ts';
import type { Inputs } from '../inputs.ts';
import type { Finished, Host, RunFlags, Where } from '../types.ts';
import { carryOn } from './carry-on.ts';
import { create, type RunSeed, scriptMismatch } from './create.ts';
import { type ReplayRequest, replaySeed } from './replay-seed.ts';
import { runSeed } from './run-seed.ts';
import { type RunTerms, termsOf } from './terms.ts';
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

/** What is wrong with the folders of a new run. */
export function dirsProblem(
  graph: Graph,
  flags: RunFlags,
  { cwd, runsDir }: { readonly cwd: string; readonly runsDir: string },
): Refusal | undefined {
  const workdir = workdirOf(graph, flags, cwd);
  const found = workdir === undefined ? undefined : checkDirs({ workdir, runsdir: runsDir });
  return found && refused('usage', found.message, found.fix);
}

/** A run that may begin, as far as this machine can say. */
export type CheckedStart = { readonly inputs: Inputs; readonly terms: RunTerms };

/** Checks a run: its inputs, its holdout, its agents' names, prices and answers; nothing is written. `elsewhere`: another machine may
 *  execute it, which may have other keys. `before`: a run of the same pipeline and flags, with other values of variables. */
export async function checkStart(
  graph: Graph,
  where: Where,
  flags: RunFlags,
  host: Pick<Host, 'cwd' | 'env' | 'clock'>,
  {
    before,
    elsewhere = true,
  }: { readonly before?: CheckedStart | undefined; readonly elsewhere?: boolean } = {},
): Promise<CheckedStart | Refusal> {
  const seed = await workdirSeed(graph, where, flags, host, before?.inputs);
  if ('problems' in seed) return seed;
  const { inputs } = seed;
  const terms = before?.terms ?? (await termsOf({ ...seed, elsewhere }, flags, host));
  if ('problems' in terms) return terms;
  // A script that only the pipeline bundles comes after a key, and the other machine may have one.
  const isCertain = flags.agent !== undefined || flags.agent_script !== undefined;
  return (isCertain ? scriptMismatch(terms, inputs) : undefined) ?? { inputs, terms };
}

/** Starts a run from the checkpoint `moment` of the run in `runDir`, which is only read; `graph` replaces its pipeline, and a note
 *  of the flags is for its first agent. */
export async function forkRun(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  where: Where,
  flags: RunFlags,
  host: Host,
): Promise<Finished | Refusal> {
  const seed = await runSeed(runDir, moment, graph, flags, host, { runsDir: where.runsDir });
  const { note } = flags;
  if ('problems' in seed || note === undefined)
    return 'problems' in seed ? seed : live(where, seed, flags, host);
  const { noteProblem, steerRun } = await import('../steer-run.ts');
  const problem = noteProblem(where.runId, note, seed.graph);
  if (problem !== undefined) return problem;
  const run = await create(where, seed, flags, host);
  if ('problems' in run) return run;
  const given = await steerRun(run.runDir, { text: note, from: 'command' }, host);
  return 'problems' in given ? given : carryOn(run, flags, host);
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
