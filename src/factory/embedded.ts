/** Runs from a program of one's own. What the command line makes of its flags before it calls the wiring, and what it
 *  refuses, is done here: folders become absolute, ids and places are checked, and what nobody wishes is filled in.
 *
 *  All of these reject where the run's folder can no longer be written to, another engine has taken the run over, or who is
 *  told of it throws (it stands where its checkpoint says, and can be resumed), and for a mistake of ours. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { workdirOf } from '../engine/pipeline.ts';
import type { Graph } from '../model/graph.ts';
import { keepsTexts } from '../model/manifest.ts';
import type { Moment } from '../store/moment.ts';
import { readManifest, validRunId } from '../store/run-store.ts';
import { realClock } from '../system/clock.ts';
import { checkDirs } from '../workspace/dirs.ts';
import { forkRun as fork } from './fork.ts';
import { readPipeline } from './pipeline.ts';
import { type ReplayRequest, replayRun as replay } from './replay.ts';
import { resumeRun as resume } from './resume.ts';
import { startRun as start } from './start.ts';
import { type Doors, type Finished, type Refusal, type RunFlags, refused } from './types.ts';

/** Where a new run is made: the folder `runsDir/runId`. A relative path is one of `doors.cwd`. */
export type Where = { readonly runsDir: string; readonly runId: string };

/** The doors of this process, with `given` in their places: its folder and environment, the real clock, a signal that never
 *  fires, and nobody who is told. Run files tell the same story afterwards. */
export const plainDoors = (given: Partial<Doors> = {}): Doors => ({
  cwd: process.cwd(),
  env: process.env,
  clock: realClock,
  signal: new AbortController().signal,
  watcher: { event() {}, streamed() {}, spent() {} },
  log() {},
  ...given,
});

/** The flags of a command line on which there are none, with `given` in their places. */
export const plainFlags = (given: Partial<RunFlags> = {}): RunFlags => ({
  vars: {},
  envPass: [],
  allowDirty: false,
  acceptChanges: false,
  ...given,
});

/** Starts a run of `graph` and runs it to its end. Refuses, with nothing left behind, what cannot be started. */
export async function startRun(
  graph: Graph,
  where: Where,
  flags: RunFlags = plainFlags(),
  doors: Doors = plainDoors(),
): Promise<Finished | Refusal> {
  const place = placed(where, doors);
  if ('problems' in place) return place;
  const workdir = workdirOf(graph, flags, doors.cwd);
  const wrong = workdir === undefined ? undefined : checkDirs({ workdir, runsdir: place.runsDir });
  if (wrong !== undefined) return refused(wrong.which, wrong.message, wrong.fix);
  return start(graph, place, flags, doors);
}

/** Goes on with the run in `runDir` where it stopped; where `graph` is left out, with the pipeline file that it was begun
 *  with, as it is now. Refuses what has changed since, unless `flags.acceptChanges`; answers the old result of a run that
 *  has ended. */
export async function resumeRun(
  runDir: string,
  graph?: Graph,
  flags: RunFlags = plainFlags(),
  doors: Doors = plainDoors(),
): Promise<Finished | Refusal> {
  const dir = resolve(doors.cwd, runDir);
  return resume(dir, graph ?? (await graphOf(dir, flags, doors)), flags, doors);
}

/** Undefined where the run goes on with the texts that it keeps, or where there is nothing to read: the refusal of a run
 *  that cannot be read comes from where it is taken up. */
async function graphOf(runDir: string, flags: RunFlags, doors: Doors): Promise<Graph | undefined> {
  const read = await readManifest(runDir);
  if (!read.ok) return undefined;
  const { pipeline_file, pipeline_path } = read.manifest;
  if (keepsTexts(read.manifest) && !flags.acceptChanges) return undefined;
  return (await readPipeline(pipeline_file ?? pipeline_path, doors.cwd)).graph;
}

/** Starts a run at `moment` (`readSoFar`, `findMoment`) of the run in `runDir` and runs it to its end. `graph` is a
 *  pipeline to go on with in place of that run's own. The other run is only read. */
export async function forkRun(
  runDir: string,
  moment: Moment,
  graph: Graph | undefined,
  where: Where,
  flags: RunFlags = plainFlags(),
  doors: Doors = plainDoors(),
): Promise<Finished | Refusal> {
  const place = placed(where, doors);
  if ('problems' in place) return place;
  return fork(resolve(doors.cwd, runDir), moment, graph, place, flags, doors);
}

/** Makes the run in `runDir` again in a new directory, agents answered from its record. The other run is only read. */
export async function replayRun(
  runDir: string,
  request: ReplayRequest,
  where: Where,
  flags: RunFlags = plainFlags(),
  doors: Doors = plainDoors(),
): Promise<Finished | Refusal> {
  const place = placed(where, doors);
  if ('problems' in place) return place;
  return replay(resolve(doors.cwd, runDir), request, place, flags, doors);
}

function placed({ runsDir, runId }: Where, { cwd }: Doors): Where | Refusal {
  const bad = validRunId(runId);
  if (bad !== undefined) return refused('run-id', bad, 'newRunId(clock) makes one');
  const place = { runsDir: resolve(cwd, runsDir), runId };
  if (!existsSync(resolve(place.runsDir, runId))) return place;
  return refused(
    'run-id',
    `there is a run "${runId}" in ${place.runsDir} already`,
    'go on with it by resumeRun, or take another id',
  );
}
