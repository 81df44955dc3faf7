/** `factory fork`: a new run from a checkpoint of an existing run. */
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readPipeline } from '../app/read-pipeline.ts';
import { forkRun } from '../app/run/index.ts';
import type { Finished } from '../app/types.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import type { Graph } from '../core/graph.ts';
import { quoteWord } from '../core/policy/words.ts';
import type { Point } from '../core/records/names.ts';
import { findMoment } from '../run/moment.ts';
import { openRun } from '../run/open-run.ts';
import { isWithin, realOf } from '../workspace/roots.ts';
import { findNamed, newRun, runsDirOf, usage } from './find-run.ts';
import { flagsOf, hostOf, type RunHost, type RunOptions, warnOf } from './flags.ts';
import { openView, type View } from './report/live.ts';
import { report } from './run.ts';
import { setAttributesOf } from './set-texts.ts';
import type { VerbResult } from './verb.ts';

export type ForkOptions = Omit<RunOptions, 'resume' | 'workdir' | 'allowDirty'> & {
  readonly at?: Point;
  readonly before?: boolean | Point;
  readonly pipeline?: string;
  readonly set?: readonly string[];
  readonly note?: string;
};

/** Forks a run and runs the new one to its end. */
export async function forkCommand(run: string, options: ForkOptions, io: RunHost): Promise<VerbResult> {
  const view = await openView(options, io);
  return report(await fork(run, options, io, view), options, io);
}

async function fork(run: string, options: ForkOptions, io: RunHost, view: View): Promise<Finished | Refusal> {
  const runs = options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`;
  const named = typeof options.before === 'object' ? options.before : undefined;
  const at = options.at ?? named;
  if (at === undefined)
    return usage('--at is missing', `for example: factory fork ${quoteWord(run)}${runs} --at NODE@VISIT`);
  if (at !== named && named !== undefined)
    return usage('--at and --before name a node each', 'give one of them');
  const set = await setAttributesOf(options.set ?? [], io.cwd);
  if ('problems' in set) return set;
  const where = await copyTarget(run, options, io);
  if ('problems' in where) return where;
  const { dir } = where;
  const read = openRun(dir).history();
  if (!read.ok) return refused('run-files', read.why);
  const moment = findMoment(read.records, at, options.before !== undefined);
  if (!moment.ok) return refused('no-visit', `run ${read.checkpoint.run_id}: ${moment.why}`, moment.fix);
  let graph: Graph | undefined;
  if (options.pipeline !== undefined) {
    const pipeline = await readPipeline(options.pipeline, io.cwd, { env: io.env });
    warnOf(pipeline, io, view);
    graph = pipeline.graph;
    if (graph === undefined)
      return { problems: pipeline.found.filter(({ severity }) => severity === 'error') };
  }
  const host = hostOf(io, view, options);
  const { note } = options;
  const given = { ...flagsOf(options), set: set.attributes, ...(note === undefined ? {} : { note }) };
  return forkRun(dir, moment, graph, where, given, host);
}

/** The run that is named, and the directory and id of the new run that copies from it. */
export async function copyTarget(
  run: string,
  options: Pick<ForkOptions, 'runsdir' | 'runId'>,
  io: RunHost,
): Promise<{ readonly dir: string; readonly runsDir: string; readonly runId: string } | Refusal> {
  // `--runsdir` is for the new run; the other one may be there too, or in the default place.
  const there = await findNamed(run, options, io);
  const found = 'problems' in there && options.runsdir !== undefined ? await findNamed(run, {}, io) : there;
  if ('problems' in found) return 'problems' in there ? there : found;
  const { dir } = found;
  const runsDir = options.runsdir === undefined ? dirname(dir) : runsDirOf(options, io);
  const place = newRun(runsDir, options.runId, io);
  if ('problems' in place) return place;
  return (await placeProblem(runsDir, dir)) ?? { dir, ...place };
}

/** Why no run can be created there, or undefined. */
async function placeProblem(runsDir: string, from: string): Promise<Refusal | undefined> {
  const there = await stat(runsDir).catch(() => undefined);
  const fix = 'name another directory with --runsdir';
  if (there?.isDirectory() === false) return usage(`the runs directory ${runsDir} is not a directory`, fix);
  if (isWithin(await realpath(from), realOf(runsDir)))
    return usage(`the runs directory ${runsDir} is in the directory of the run`, fix);
  return undefined;
}
