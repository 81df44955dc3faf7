/** `factory run` and `factory resume`: flags become a request, the run's story goes to the terminal or the log. */

import { join } from 'node:path';
import { openQuestionOf } from '../app/inspect/question.ts';
import { pipelinePath } from '../app/pipelines.ts';
import { readPipeline } from '../app/read-pipeline.ts';
import { dirsProblem, resumeRun, startRun } from '../app/run/index.ts';
import type { Finished } from '../app/types.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { keepsTexts } from '../core/records/manifest.ts';
import { askedIn } from '../core/records/result.ts';
import { planRequestFile } from '../planner/evidence.ts';
import { releaseGarbage } from '../platform/garbage.ts';
import { openRun } from '../run/open-run.ts';
import { namedRun } from '../run/runs.ts';
import { findNamed, newRun, runsDirOf, usage } from './find-run.ts';
import { flagsOf, hostOf, type RunHost, type RunOptions, warnOf } from './flags.ts';
import { type CliIo, paints } from './io.ts';
import { sheetOf } from './report/fit.ts';
import { openView, type View } from './report/live.ts';
import { answerCommands, askedText } from './report/question.ts';
import { painter } from './report/run.ts';
import { summary } from './report/summary.ts';
import type { VerbResult } from './verb.ts';

/** Flags that only a resume accepts. */
const resumeOnly = [
  ['takeOver', '--take-over'],
  ['now', '--now'],
  ['acceptChanges', '--accept-changes'],
] as const;

/** Runs a pipeline, or resumes a run with `--resume --run-id`. */
export async function runCommand(
  pipeline: string | undefined,
  options: RunOptions,
  io: RunHost,
): Promise<VerbResult> {
  const { resume, runId } = options;
  const view = await openView(options, io);
  if (resume !== true) return report(await start(pipeline, options, io, view), options, io);
  if (runId === undefined)
    return usage('--resume needs --run-id', 'factory resume RUN; factory runs lists the runs');
  if (pipeline !== undefined)
    return report(await resumeNamed(runId, pipeline, options, io, view), options, io);
  const run = namedRun(join(runsDirOf(options, io), runId), io.cwd);
  return usage('no pipeline file is named', `factory resume ${run}`);
}

/** `factory build SPEC`: the main job for a spec. */
export const buildCommand = (
  spec: string,
  { ask, ...options }: RunOptions & { readonly ask?: boolean },
  io: RunHost,
): Promise<VerbResult> => {
  const asks = ask === true ? { ask: 'true' } : {};
  return runCommand('compile-and-build', { ...options, var: { ...options.var, ...asks, spec } }, io);
};

/** `factory ask SPEC`: only asks what the spec leaves open. */
export const askCommand = (spec: string, options: RunOptions, io: RunHost): Promise<VerbResult> =>
  runCommand('ask', { ...options, var: { ...options.var, spec } }, io);

/** Resumes a run by its id, with the pipeline that it was started from. */
export async function resumeCommand(run: string, options: RunOptions, io: CliIo): Promise<VerbResult> {
  const order = await resumeOfOrder(run, options, io);
  if (order !== undefined) return order;
  const view = await openView(options, io);
  return report(await resumeNamed(run, undefined, options, io, view), options, io);
}

/** The resume of a run that `factory order run` started: it ends only when its branch has landed. */
async function resumeOfOrder(run: string, options: RunOptions, io: CliIo): Promise<VerbResult | undefined> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return undefined;
  const { requestFile } = await import('../app/orders/sources.ts');
  if (!(await keepsText(found.dir, requestFile))) return undefined;
  return (await import('./order-run.ts')).resumeOrderRun(found.dir, options, io);
}

async function keepsText(runDir: string, name: string): Promise<boolean> {
  const read = await openRun(runDir).manifest();
  return read.ok && read.manifest.texts?.[name] !== undefined;
}

async function start(
  pipeline: string | undefined,
  options: RunOptions,
  io: RunHost,
  view: View,
): Promise<Finished | Refusal> {
  if (pipeline === undefined)
    return usage(
      'no pipeline file is named',
      'factory run compile-and-build, or factory pipelines, which lists them',
    );
  const resumes = resumeOnly.find(([name]) => options[name] === true);
  if (resumes !== undefined)
    return usage(`${resumes[1]} goes with --resume`, `factory resume ID ${resumes[1]}`);
  const read = await readPipeline(pipelinePath(pipeline, io.cwd), io.cwd, {
    strict: options.strict === true,
    env: io.env,
    release: releaseGarbage,
  });
  warnOf(read, io, view);
  if (read.graph === undefined) return { problems: read.found.filter((d) => d.severity === 'error') };
  const runsDir = runsDirOf(options, io);
  const place = newRun(runsDir, options.runId, io);
  if ('problems' in place) return place;
  const flags = flagsOf(options);
  const dirs = dirsProblem(read.graph, flags, { cwd: io.cwd, runsDir });
  if (dirs !== undefined) return dirs;
  releaseGarbage();
  return startRun(read.graph, place, flags, hostOf(io, view, options));
}

async function resumeNamed(
  run: string,
  pipeline: string | undefined,
  options: RunOptions,
  io: RunHost,
  view: View,
): Promise<Finished | Refusal> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const recorded = await openRun(found.dir).manifest();
  if (!recorded.ok) return refused('no-run', recorded.why);
  const { pipeline_file, pipeline_path } = recorded.manifest;
  const read = await readPipeline(pipeline ?? pipeline_file ?? pipeline_path, io.cwd, {
    release: releaseGarbage,
  });
  if (pipeline !== undefined && read.text === undefined) return { problems: read.found };
  const flags = flagsOf(options);
  releaseGarbage();
  const keeps = pipeline === undefined && keepsTexts(recorded.manifest) && !flags.acceptChanges;
  const ended = await resumeRun(found.dir, keeps ? undefined : read.graph, flags, hostOf(io, view, options));
  return withRecords(found.dir, ended, io, view);
}

/** A run of `factory plan` has records outside its run directory, whichever command ends it. */
async function withRecords(runDir: string, ended: Finished | Refusal, io: RunHost, view: View) {
  if ('problems' in ended || !(await keepsText(runDir, planRequestFile))) return ended;
  const { finishCompile } = await import('./plan-end.ts');
  const { code, dir, reason } = await finishCompile(runDir, ended, io);
  view.log(code === 0 ? 'info' : 'warn', 'records of the compilation are written', {
    dir,
    ...(reason === '' ? {} : { reason }),
  });
  return { result: { ...ended.result, exit_code: code }, code };
}

/** The lock of a run that can be resumed is released when its end is on the screen. */
async function cardOfEnd(runDir: string, { cwd, clock, called }: RunHost) {
  const { failureCardIn } = await import('./why.ts');
  return failureCardIn(runDir, { cwd, clock, ...(called && { called }), hasEnded: true });
}

/** Prints the end of a run, and turns it into an exit code. */
export async function report(
  ended: Finished | Refusal,
  options: RunOptions,
  io: RunHost,
): Promise<VerbResult> {
  if ('problems' in ended) return ended;
  const { result } = ended;
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  if (options.json === true) io.out(`${JSON.stringify(result, null, 2)}\n`);
  else if (options.quiet !== true || result.status !== 'completed') {
    const card = result.status === 'failed' ? await cardOfEnd(result.run_dir, io) : null;
    const sheet = sheetOf(io);
    io.out(`${summary(result, paint, card, sheet)}\n`);
    for (const asked of askedIn(result)) {
      const question = openQuestionOf(result.run_dir, asked, io);
      // Where a person was asked, the question is on the screen.
      const lines =
        io.terminal === undefined
          ? [askedText(question, paint, sheet)]
          : answerCommands(question, paint, sheet);
      io.out(`${lines.join('\n')}\n`);
    }
  }
  return ended.code;
}
