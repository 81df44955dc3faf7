/** `factory fork`: a new run that goes on from a moment of another one. */
import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Finished, Refusal } from '../factory.ts';
import { forkRun, readPipeline } from '../factory.ts';
import type { Graph } from '../model/graph.ts';
import { parsePoint } from '../model/point.ts';
import { quoteWord } from '../policy/words.ts';
import type { Moment } from '../store/moment.ts';
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

/** Starts a run at a moment of another one and runs it to its end. Answers with the exit code. */
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
  const from = await runAndMoment(run, options, io);
  if ('problems' in from) return from;
  const runsDir = options.runsdir === undefined ? dirname(from.dir) : resolve(io.cwd, options.runsdir);
  const runId = options.runId ?? newRunId(io.clock);
  const wrong = await placeProblem(runsDir, runId, from.dir, io.cwd);
  if (wrong !== undefined) return wrong;
  let graph: Graph | undefined;
  if (options.pipeline !== undefined) {
    const read = await readPipeline(options.pipeline, io.cwd);
    warnOf(read, io, view);
    if (read.graph === undefined) return { problems: read.found.filter((d) => d.severity === 'error') };
    graph = read.graph;
  }
  const doors = doorsOf(io, view);
  if (from.changed !== undefined)
    doors.log(
      'warn',
      'the records of the other run are not what was written there; this one begins as they say now',
      {
        changed: from.changed,
      },
    );
  return forkRun(from.dir, from.moment, graph, { runsDir, runId }, flags, doors);
}

async function runAndMoment(
  run: string,
  options: ForkOptions,
  io: RunDoors,
): Promise<
  { readonly dir: string; readonly moment: Moment; readonly changed: string | undefined } | Refusal
> {
  const runs = options.runsdir === undefined ? '' : ` --runsdir ${quoteWord(options.runsdir)}`;
  if (options.at === undefined)
    return usage('no moment is named', `for example: factory fork ${quoteWord(run)}${runs} --at NODE@VISIT`);
  const point = parsePoint(options.at);
  if ('problem' in point) return usage(`--at ${point.problem}`, point.fix);
  const usual = resolve(io.cwd, '.factory/runs');
  const given = options.runsdir === undefined ? usual : resolve(io.cwd, options.runsdir);
  // `--runsdir` is where the new run goes; the one to fork may lie there too, or in the usual place.
  let found = await findRun(given, run);
  if (!found.ok && given !== usual) {
    const elsewhere = await findRun(usual, run);
    if (elsewhere.ok) found = elsewhere;
  }
  if (!found.ok) return refused('no-run', found.why);
  const dir = resolve(io.cwd, found.dir);
  const read = await readSoFar(dir);
  if (!read.ok) return refused('run-files', read.why);
  const moment = findMoment(read.records, point, options.before === true);
  return moment.ok
    ? { dir, moment, changed: read.changed }
    : refused('no-visit', `run ${read.checkpoint.run_id}: ${moment.why}`, moment.fix);
}

/** Why no run may be made there, or undefined. */
export async function placeProblem(
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
      `go on with it: factory resume ${namedRun(join(runsDir, runId), cwd)}; or leave out --run-id for a new one`,
    );
  const there = await stat(runsDir).catch(() => undefined);
  if (there !== undefined && !there.isDirectory())
    return usage(`the runs directory ${runsDir} is not a folder`, 'name another folder with --runsdir');
  if (isWithin(await realpath(from), realOf(runsDir)))
    return usage(
      `the runs directory ${runsDir} lies in the folder of the run itself`,
      'name another folder with --runsdir',
    );
  return undefined;
}
