/** `factory run` and `factory resume`: flags become a request, the run's story goes to the terminal or the log. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { workdirOf } from '../engine/pipeline.ts';
import { readPipeline } from '../factory/pipeline.ts';
import { resumeRun } from '../factory/resume.ts';
import { startRun } from '../factory/start.ts';
import { refused } from '../factory/types.ts';
import type { Bounds, Finished, Refusal, RunFlags } from '../factory.ts';
import { layout } from '../model/layout.ts';
import { keepsTexts } from '../model/manifest.ts';
import { planRequestFile } from '../planner/request.ts';
import type { SandboxWord } from '../policy/confinement.ts';
import { quoteWord } from '../policy/words.ts';
import { namedRun, readManifest } from '../store/run-store.ts';
import { packageRoot } from '../system/package.ts';
import { checkDirs } from '../workspace/dirs.ts';
import { fewOfEach } from './draw.ts';
import { findNamed, newRun, runsDirOf, usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { painter, summary } from './print.ts';
import type { Ended } from './verbs.ts';
import { openView, type View, type ViewIo, type ViewOptions } from './view.ts';

/** Flags that bound what a run may do; every command that begins one has them. */
export type BoundOptions = {
  readonly maxCostUsd?: number;
  readonly maxTokens?: number;
  readonly unknownCost?: 'stop' | 'allow';
  readonly prices?: string;
  /** Milliseconds. */
  readonly parkAfter?: number;
  readonly maxOutage?: number;
  readonly sandbox?: SandboxWord;
  readonly envPass?: readonly string[];
  readonly wait?: boolean;
  readonly now?: boolean;
};

/** Flags of the commands that run the nodes of a pipeline. */
export type RunOptions = ViewOptions &
  BoundOptions & {
    readonly workdir?: string;
    readonly runsdir?: string;
    readonly runId?: string;
    readonly resume?: boolean;
    readonly var?: Readonly<Record<string, string>>;
    readonly agent?: string;
    readonly model?: string;
    readonly effort?: string;
    readonly script?: string;
    readonly allowDirty?: boolean;
    readonly holdout?: string;
    readonly strict?: boolean;
    readonly acceptChanges?: boolean;
    readonly takeOver?: boolean;
    readonly live?: boolean;
    readonly maxSteps?: number;
    readonly maxVisits?: number;
    /** Milliseconds. */
    readonly maxWall?: number;
    readonly json?: boolean;
  };

export type RunDoors = ViewIo &
  Pick<CliIo, 'signal'> &
  Partial<Pick<CliIo, 'parting' | 'atLast' | 'ownSteps'>>;

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
  io: RunDoors,
): Promise<Ended> {
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

/** Resumes a run by its id, with the pipeline that it was started from. */
export async function resumeCommand(run: string, options: RunOptions, io: CliIo): Promise<Ended> {
  const order = await resumeOfOrder(run, options, io);
  if (order !== undefined) return order;
  const view = await openView(options, io);
  return report(await resumeNamed(run, undefined, options, io, view), options, io);
}

/** The resume of a run that `factory order run` started: it ends only when its branch has landed. */
async function resumeOfOrder(run: string, options: RunOptions, io: CliIo): Promise<Ended | undefined> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return undefined;
  const { requestFile } = await import('../executor/request.ts');
  if (!existsSync(join(layout(found.dir).inputs, requestFile))) return undefined;
  return (await import('./order-run.ts')).resumeOrderRun(found.dir, options, io);
}

async function start(
  pipeline: string | undefined,
  options: RunOptions,
  io: RunDoors,
  view: View,
): Promise<Finished | Refusal> {
  if (pipeline === undefined)
    return usage(
      'no pipeline file is named',
      `factory run ${quoteWord(join(packageRoot(), 'pipelines/compile-and-build.dot'))}`,
    );
  const resumes = resumeOnly.find(([name]) => options[name] === true);
  if (resumes !== undefined)
    return usage(`${resumes[1]} goes with --resume`, `factory resume ID ${resumes[1]}`);
  const read = await readPipeline(pipeline, io.cwd, { strict: options.strict === true });
  warnOf(read, io, view);
  if (read.graph === undefined) return { problems: read.found.filter((d) => d.severity === 'error') };
  const runsDir = runsDirOf(options, io);
  const place = newRun(runsDir, options.runId, io);
  if ('problems' in place) return place;
  const flags = flagsOf(options);
  const workdir = workdirOf(read.graph, flags, io.cwd);
  const dirs = workdir === undefined ? undefined : checkDirs({ workdir, runsdir: runsDir });
  if (dirs !== undefined) return usage(dirs.message, dirs.fix);
  return startRun(read.graph, place, flags, doorsOf(io, view));
}

/** Prints what may be wrong with a pipeline that can run. */
export function warnOf(
  { found, text }: Pick<Awaited<ReturnType<typeof readPipeline>>, 'found' | 'text'>,
  io: Pick<RunDoors, 'errIsTerminal'>,
  view: View,
): void {
  const warnings = found.filter((one) => one.severity === 'warning');
  const { told, more } = fewOfEach(warnings, io.errIsTerminal);
  for (const warning of told) view.warn(warning, text);
  for (const line of more) view.log('warn', line);
}

async function resumeNamed(
  run: string,
  pipeline: string | undefined,
  options: RunOptions,
  io: RunDoors,
  view: View,
): Promise<Finished | Refusal> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const readRun = await readManifest(found.dir);
  if (!readRun.ok) return refused('no-run', readRun.why);
  const { pipeline_file, pipeline_path } = readRun.manifest;
  const read = await readPipeline(pipeline ?? pipeline_file ?? pipeline_path, io.cwd);
  if (pipeline !== undefined && read.text === undefined) return { problems: read.found };
  const flags = flagsOf(options);
  const keeps = pipeline === undefined && keepsTexts(readRun.manifest) && !flags.acceptChanges;
  const ended = await resumeRun(found.dir, keeps ? undefined : read.graph, flags, doorsOf(io, view));
  return withRecords(found.dir, ended, io, view);
}

/** A run of `factory plan` has records outside its run directory, whichever command ends it. */
async function withRecords(runDir: string, ended: Finished | Refusal, io: RunDoors, view: View) {
  if ('problems' in ended || !existsSync(join(layout(runDir).inputs, planRequestFile))) return ended;
  const { finishCompile } = await import('./compile-end.ts');
  const { code, dir, reason } = await finishCompile(runDir, ended, io);
  view.log(code === 0 ? 'info' : 'warn', 'records of the compilation are written', {
    dir,
    ...(reason === '' ? {} : { reason }),
  });
  return { result: { ...ended.result, exit_code: code }, code };
}

export const doorsOf = (io: RunDoors, view: View) => ({
  ...given(io, ['cwd', 'env', 'clock', 'called', 'parting', 'atLast', 'ownSteps']),
  signal: io.signal(),
  watcher: view.watcher,
  log: view.log,
});

export const boundNames = [
  'maxCostUsd',
  'maxTokens',
  'unknownCost',
  'prices',
  'parkAfter',
  'maxOutage',
  'sandbox',
  'envPass',
  'wait',
  'now',
] as const satisfies readonly (keyof BoundOptions)[];

/** The flags about money, tokens, confinement and waiting. */
export const boundsOf = ({ parkAfter, maxOutage, ...options }: BoundOptions): Bounds => ({
  ...given(options, [
    ...(['maxCostUsd', 'maxTokens', 'unknownCost', 'prices', 'sandbox', 'envPass', 'wait', 'now'] as const),
  ]),
  ...(parkAfter === undefined ? {} : { parkAfterMs: parkAfter }),
  ...(maxOutage === undefined ? {} : { maxOutageMs: maxOutage }),
});

export const flagsOf = (options: RunOptions): RunFlags => ({
  ...boundsOf(options),
  ...given(options, ['workdir', 'holdout', 'agent', 'model', 'effort', 'script', 'takeOver', 'live']),
  ...given(options, ['maxSteps', 'maxVisits']),
  vars: options.var ?? {},
  envPass: options.envPass ?? [],
  allowDirty: options.allowDirty === true,
  acceptChanges: options.acceptChanges === true,
  ...(options.maxWall === undefined ? {} : { maxWallMs: options.maxWall }),
});

/** Those of the named properties that are set. */
function given<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  const set = names.filter((name) => from[name] !== undefined);
  return Object.fromEntries(set.map((name) => [name, from[name]])) as Pick<T, K>;
}

/** Prints the end of a run, and turns it into an exit code. */
export function report(ended: Finished | Refusal, options: RunOptions, io: RunDoors): Ended {
  if ('problems' in ended) return ended;
  const { result } = ended;
  if (options.json === true) io.out(`${JSON.stringify(result, null, 2)}\n`);
  else if (options.quiet !== true || result.status !== 'completed')
    io.out(`${summary(result, painter(paints(io, io.outIsTerminal, options.color)))}\n`);
  return ended.code;
}
