/** `factory fork`: a new run from a checkpoint of an existing run. */
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Finished, Refusal } from '../factory.ts';
import { forkRun, readPipeline } from '../factory.ts';
import type { Graph } from '../model/graph.ts';
import { parsePoint } from '../model/point.ts';
import { quoteWord } from '../policy/words.ts';
import { findMoment, readSoFar } from '../store/moment.ts';
import { findRun, namedRun, newRunId, validRunId } from '../store/run-store.ts';
import { isWithin, realOf } from '../workspace/dirs.ts';
import { wrong } from './refuse.ts';
import type { RunDoors, RunOptions } from './run.ts';
import { doorsOf, flagsOf, settle, usage, warnOf } from './run.ts';
import type { View } from './view.ts';
import { openView } from './view.ts';

export type ForkOptions = Omit<
  RunOptions,
  'resume' | 'workdir' | 'allowDirty' | 'holdout' | 'acceptChanges'
> & {
  readonly at?: string;
  readonly before?: boolean;
  readonly pipeline?: string;
};

/** Forks a run and runs the new one to its end. Returns the exit code. */
export async function forkCommand(run: string, options: ForkOptions, io: RunDoors): Promise<number> {
  const view = await openView(options, io);
  return settle(await fork(run, options, io, view), options, io);
}

const refused = (code: string, message: string, fix?: string): Refusal => ({
  problems: [wrong(code, message, fix)],
});

async function fork(
  run: string,
  options: ForkOptions,
  io: RunDoors,
  view: View,
): Promise<Finished | Refusal> {
  const flags = flagsOf(options);
  if ('problems' in flags) return flags;
  const runs = options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`;
  if (options.at === undefined)
    return usage('--at is missing', `for example: factory fork ${quoteWord(run)}${runs} --at NODE@VISIT`);
  const point = parsePoint(options.at);
  if ('problem' in point) return usage(`--at ${point.problem}`, point.fix);
  const where = await placeOfCopy(run, options, io);
  if ('problems' in where) return where;
  const { dir } = where;
  const read = await readSoFar(dir);
  if (!read.ok) return refused('run-files', read.why);
  const moment = findMoment(read.records, point, options.before === true);
  if (!moment.ok) return refused('no-visit', `run ${read.checkpoint.run_id}: ${moment.why}`, moment.fix);
  let graph: Graph | undefined;
  if (options.pipeline !== undefined) {
    const pipeline = await readPipeline(options.pipeline, io.cwd);
    warnOf(pipeline, io, view);
    graph = pipeline.graph;
    if (graph === undefined)
      return { problems: pipeline.found.filter(({ severity }) => severity === 'error') };
  }
  const doors = doorsOf(io, view);
  const { changed } = read;
  if (changed !== undefined)
    doors.log('warn', 'the records of the forked run were changed; the fork uses them as they are', {
      changed,
    });
  return forkRun(dir, moment, graph, where, flags, doors);
}

/** The run that is named, and the directory and id of the new run that copies from it. */
export async function placeOfCopy(
  run: string,
  options: Pick<ForkOptions, 'runsdir' | 'runId'>,
  io: RunDoors,
): Promise<{ readonly dir: string; readonly runsDir: string; readonly runId: string } | Refusal> {
  const usual = resolve(io.cwd, '.factory/runs');
  const given = options.runsdir === undefined ? usual : resolve(io.cwd, options.runsdir);
  // `--runsdir` is for the new run; the other one may be there too, or in the default place.
  const there = await findRun(given, run);
  const found = there.ok || given === usual ? there : await findRun(usual, run);
  if (!found.ok) return refused('no-run', there.ok ? found.why : there.why);
  const dir = resolve(io.cwd, found.dir);
  const runsDir = options.runsdir === undefined ? dirname(dir) : given;
  const runId = options.runId ?? newRunId(io.clock);
  return (await placeProblem(runsDir, runId, dir, io.cwd)) ?? { dir, runsDir, runId };
}

/** Why no run can be created there, or undefined. */
async function placeProblem(
  runsDir: string,
  runId: string,
  from: string,
  cwd: string,
): Promise<Refusal | undefined> {
  const bad = validRunId(runId);
  if (bad !== undefined) return usage(`--run-id: ${bad}`, 'for example --run-id try-1; or leave it out');
  if (existsSync(resolve(runsDir, runId)))
    return usage(
      `there is a run "${runId}" in ${runsDir} already`,
      `continue it: factory resume ${namedRun(join(runsDir, runId), cwd)}; or leave out --run-id for a new one`,
    );
  const there = await stat(runsDir).catch(() => undefined);
  if (there !== undefined && !there.isDirectory())
    return usage(`the runs directory ${runsDir} is not a directory`, 'name another directory with --runsdir');
  if (isWithin(await realpath(from), realOf(runsDir)))
    return usage(
      `the runs directory ${runsDir} is in the directory of the run`,
      'name another directory with --runsdir',
    );
  return undefined;
}
