/** Runs for programs that use factory as a library. Does what the command line does before a run: makes paths absolute, checks
 *  ids and folders, and fills in defaults.
 *
 *  All functions reject if the run directory cannot be written, another process has taken over the run, or a watcher throws
 *  (the run can then be resumed from its checkpoint), and on internal errors. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { workdirOf } from '../core/pipeline.ts';
import { keepsTexts } from '../core/records/manifest.ts';
import { realClock } from '../platform/clock.ts';
import type { Moment } from '../run/moment.ts';
import { openRun } from '../run/open-run.ts';
import { newRunIdProblem } from '../run/runs.ts';
import { checkDirs } from '../workspace/roots.ts';
import { readPipeline } from './read-pipeline.ts';
import { forkRun, replayRun, resumeRun, startRun } from './run/index.ts';
import type { ReplayRequest } from './run/replay-seed.ts';
import type { Finished, Host, RunFlags, Where } from './types.ts';

/** Default host, overridden by `given`: this process's working directory and environment, the real clock, a signal that never
 *  fires, and no watcher or log. The run directory has all records anyway. */
export const plainHost = (given: Partial<Host> = {}): Host => ({
  cwd: process.cwd(),
  env: process.env,
  clock: realClock,
  signal: new AbortController().signal,
  watcher: { event() {}, streamed() {}, output() {}, spent() {} },
  log() {},
  ...given,
});

/** The flags of an empty command line, overridden by `given`. */
export const plainFlags = (given: Partial<RunFlags> = {}): RunFlags => ({
  vars: {},
  allowDirty: false,
  acceptChanges: false,
  ...given,
});

/** Starts a run of `graph` and runs it to its end. Leaves nothing behind if it refuses. */
export async function startLocalRun(
  graph: Graph,
  where: Where,
  flags: RunFlags = plainFlags(),
  host: Host = plainHost(),
): Promise<Finished | Refusal> {
  const place = placed(where, host);
  if ('problems' in place) return place;
  const workdir = workdirOf(graph, flags, host.cwd);
  const wrong = workdir === undefined ? undefined : checkDirs({ workdir, runsdir: place.runsDir });
  if (wrong !== undefined) return refused(wrong.which, wrong.message, wrong.fix);
  return startRun(graph, place, flags, host);
}

/** Resumes the run in `runDir`; without `graph`, its pipeline file is read again. Refuses changed inputs unless
 *  `flags.acceptChanges` is set; returns the existing result of a run that has ended. */
export async function resumeLocalRun(
  runDir: string,
  graph?: Graph,
  flags: RunFlags = plainFlags(),
  host: Host = plainHost(),
): Promise<Finished | Refusal> {
  const dir = resolve(host.cwd, runDir);
  return resumeRun(dir, graph ?? (await graphOf(dir, flags, host)), flags, host);
}

/** Undefined if the run keeps its texts, or if nothing can be read: the resume itself reports that. */
async function graphOf(runDir: string, flags: RunFlags, host: Host): Promise<Graph | undefined> {
  const read = await openRun(runDir).manifest();
  if (!read.ok) return undefined;
  const { pipeline_file, pipeline_path } = read.manifest;
  if (keepsTexts(read.manifest) && !flags.acceptChanges) return undefined;
  const { kinds = [] } = host;
  return (await readPipeline(pipeline_file ?? pipeline_path, host.cwd, { kinds })).graph;
}

/** Forks the run in `runDir` at `moment` (from `openRun`, `findMoment`) and runs the fork to its end. `graph` replaces the
 *  pipeline of that run; a note of the flags is for its first agent. That run is only read. */
export async function forkLocalRun(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  where: Where,
  flags: RunFlags = plainFlags(),
  host: Host = plainHost(),
): Promise<Finished | Refusal> {
  const place = placed(where, host);
  if ('problems' in place) return place;
  return forkRun(resolve(host.cwd, runDir), moment, graph, place, flags, host);
}

/** Replays the run in `runDir` in a new directory, with the recorded answers of its agents. That run is only read. */
export async function replayLocalRun(
  runDir: string,
  request: ReplayRequest,
  where: Where,
  flags: RunFlags = plainFlags(),
  host: Host = plainHost(),
): Promise<Finished | Refusal> {
  const place = placed(where, host);
  if ('problems' in place) return place;
  return replayRun(resolve(host.cwd, runDir), request, place, flags, host);
}

function placed({ runsDir, runId }: Where, { cwd }: Host): Where | Refusal {
  const bad = newRunIdProblem(runId);
  if (bad !== undefined) return refused('run-id', bad, 'newRunId(clock) creates one');
  const place = { runsDir: resolve(cwd, runsDir), runId };
  if (!existsSync(resolve(place.runsDir, runId))) return place;
  return refused(
    'run-id',
    `there is a run "${runId}" in ${place.runsDir} already`,
    'resume it with resumeRun, or use another id',
  );
}
