/** `factory run` and `factory resume`: flags become a request, the run's story goes to the terminal or the log. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { workdirOf } from '../engine/pipeline.ts';
import { readPipeline } from '../factory/pipeline.ts';
import { resumeRun } from '../factory/resume.ts';
import { startRun } from '../factory/start.ts';
import type { Bounds, Environment, Finished, Refusal, RunFlags } from '../factory.ts';
import { duration, isVariableName, tooLarge } from '../model/attribute.ts';
import { layout } from '../model/layout.ts';
import { keepsTexts } from '../model/manifest.ts';
import { planRequestFile } from '../planner/request.ts';
import { sandboxWords } from '../policy/confinement.ts';
import { passesAll } from '../policy/secrets.ts';
import { quoteWord } from '../policy/words.ts';
import { findRun, namedRun, newRunId, readManifest, validRunId } from '../store/run-store.ts';
import { packageRoot } from '../system/package.ts';
import { checkDirs } from '../workspace/dirs.ts';

import { fewOfEach } from './few.ts';
import { paints } from './io.ts';
import { painter, summary } from './print.ts';
import { refuse, wrong } from './refuse.ts';
import { openView, type View, type ViewIo, type ViewOptions } from './view.ts';

/** Flags as given on the command line. */
export type RunOptions = ViewOptions & {
  readonly workdir?: string;
  readonly runsdir?: string;
  readonly runId?: string;
  readonly resume?: boolean;
  readonly var?: readonly string[];
  readonly agent?: string;
  readonly model?: string;
  readonly effort?: string;
  readonly script?: string;
  readonly envPass?: readonly string[];
  readonly sandbox?: string;
  readonly allowDirty?: boolean;
  readonly holdout?: string;
  readonly strict?: boolean;
  readonly acceptChanges?: boolean;
  readonly takeOver?: boolean;
  readonly live?: boolean;
  readonly maxSteps?: string;
  readonly maxVisits?: string;
  readonly maxWall?: string;
  readonly maxCostUsd?: string;
  readonly maxTokens?: string;
  readonly unknownCost?: string;
  readonly prices?: string;
  readonly parkAfter?: string;
  readonly maxOutage?: string;
  readonly wait?: boolean;
  readonly now?: boolean;
  readonly json?: boolean;
};

export type RunDoors = ViewIo & {
  readonly signal: AbortSignal;
  /** See `Doors`. */
  readonly parting?: (command: string) => void;
  readonly atLast?: (work: () => Promise<void>) => void;
};

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
] as const;

/** Flags that bound what a run may do; every command that begins one has them. */
export type BoundOptions = Pick<RunOptions, (typeof boundNames)[number]>;

export const usage = (message: string, fix: string): Refusal => ({
  problems: [wrong('usage', message, fix)],
});

/** Flags that only a resume accepts. */
const resumeOnly = [
  ['takeOver', '--take-over'],
  ['now', '--now'],
  ['acceptChanges', '--accept-changes'],
] as const;

/** Runs a pipeline, or resumes a run with `--resume --run-id`. Answers with the exit code. */
export async function runCommand(
  pipeline: string | undefined,
  options: RunOptions,
  io: RunDoors,
): Promise<number> {
  const view = await openView(options, io);
  return settle(await runOrResume(pipeline, options, io, view), options, io);
}

/** Resumes a run by its id, with the pipeline that it was started from. */
export async function resumeCommand(run: string, options: RunOptions, io: RunDoors): Promise<number> {
  const order = await orderOf(run, options, io);
  if (order !== undefined) return order();
  const view = await openView(options, io);
  return settle(await resumeById(run, undefined, options, io, view), options, io);
}

/** The resume of a run that `factory order run` started: it ends only when its branch has landed. */
async function orderOf(
  run: string,
  options: RunOptions,
  io: RunDoors,
): Promise<(() => Promise<number>) | undefined> {
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return undefined;
  const { requestFile } = await import('../executor/request.ts');
  if (!existsSync(join(layout(found.dir).inputs, requestFile))) return undefined;
  const { resumeOrderRun } = await import('./order-run.ts');
  const { realSpawn } = await import('../system/processes.ts');
  return () => resumeOrderRun(found.dir, options, { ...io, spawn: realSpawn, signal: () => io.signal });
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

async function runOrResume(
  pipeline: string | undefined,
  options: RunOptions,
  io: RunDoors,
  view: View,
): Promise<Finished | Refusal> {
  const runsDir = resolve(io.cwd, options.runsdir ?? '.factory/runs');
  const runOf = (id: string) => namedRun(join(runsDir, id), io.cwd);
  if (pipeline === undefined && options.resume === true && options.runId !== undefined)
    return usage('no pipeline file is named', `factory resume ${runOf(options.runId)}`);
  if (options.resume === true && options.runId === undefined)
    return usage('--resume needs --run-id', 'factory resume RUN; factory runs lists the runs');
  if (pipeline === undefined)
    return usage(
      'no pipeline file is named',
      `factory run ${quoteWord(join(packageRoot(), 'pipelines/compile-and-build.dot'))}`,
    );
  if (options.resume === true && options.runId !== undefined) {
    return resumeById(options.runId, pipeline, options, io, view);
  }
  const resumes = resumeOnly.find(([name]) => options[name] === true);
  if (resumes !== undefined)
    return usage(`${resumes[1]} goes with --resume`, `factory resume ID ${resumes[1]}`);
  const flags = flagsOf(options);
  if ('problems' in flags) return flags;
  const read = await readPipeline(pipeline, io.cwd, { strict: options.strict === true });
  warnOf(read, io, view);
  if (read.graph === undefined) return { problems: read.found.filter((d) => d.severity === 'error') };
  const runId = options.runId ?? newRunId(io.clock);
  const bad = validRunId(runId);
  if (bad !== undefined) return usage(`--run-id: ${bad}`, 'for example --run-id try-1; or leave it out');
  if (existsSync(resolve(runsDir, runId))) {
    return usage(
      `there is a run "${runId}" in ${runsDir} already`,
      `resume it: factory resume ${runOf(runId)}; or leave out --run-id for a new one`,
    );
  }
  const workdir = workdirOf(read.graph, flags, io.cwd);
  const dirs = workdir === undefined ? undefined : checkDirs({ workdir, runsdir: runsDir });
  if (dirs !== undefined) return usage(dirs.message, dirs.fix);
  return startRun(read.graph, { runsDir, runId }, flags, doorsOf(io, view));
}

/** Tells what may be wrong with a pipeline that can run. */
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

async function resumeById(
  run: string,
  pipeline: string | undefined,
  options: RunOptions,
  io: RunDoors,
  view: View,
): Promise<Finished | Refusal> {
  const flags = flagsOf(options);
  if ('problems' in flags) return flags;
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return refused(found.why);
  const readRun = await readManifest(found.dir);
  if (!readRun.ok) return refused(readRun.why);
  const { pipeline_file, pipeline_path } = readRun.manifest;
  const read = await readPipeline(pipeline ?? pipeline_file ?? pipeline_path, io.cwd);
  if (pipeline !== undefined && read.text === undefined) return { problems: read.found };
  const keeps = pipeline === undefined && keepsTexts(readRun.manifest) && !flags.acceptChanges;
  const ended = await resumeRun(found.dir, keeps ? undefined : read.graph, flags, doorsOf(io, view));
  return withRecords(found.dir, ended, io, view);
}

const refused = (message: string): Refusal => ({
  problems: [wrong('no-run', message)],
});

export function doorsOf(io: RunDoors, view: View) {
  return {
    cwd: io.cwd,
    env: io.env as Environment,
    clock: io.clock,
    signal: io.signal,
    watcher: view.watcher,
    log: view.log,
    ...(io.called === undefined ? {} : { called: io.called }),
    ...(io.parting === undefined ? {} : { parting: io.parting }),
    ...(io.atLast === undefined ? {} : { atLast: io.atLast }),
  };
}

export function flagsOf(options: RunOptions): RunFlags | Refusal {
  const vars: Record<string, string> = {};
  for (const pair of options.var ?? []) {
    const at = pair.indexOf('=');
    if (at <= 0) return usage(`--var ${pair} is not NAME=VALUE`, 'for example --var spec=my-spec.md');
    vars[pair.slice(0, at)] = pair.slice(at + 1);
  }
  const maxSteps = options.maxSteps === undefined ? undefined : Number(options.maxSteps);
  if (maxSteps !== undefined && (!Number.isSafeInteger(maxSteps) || maxSteps < 1))
    return notWhole('--max-steps', options.maxSteps, 1, 500);
  const maxVisits = options.maxVisits === undefined ? undefined : Number(options.maxVisits);
  if (maxVisits !== undefined && (!Number.isSafeInteger(maxVisits) || maxVisits < 1))
    return notWhole('--max-visits', options.maxVisits, 1, 100);
  const maxWallMs = options.maxWall === undefined ? undefined : lengthOf(options.maxWall);
  if (typeof maxWallMs === 'string')
    return usage(`--max-wall ${options.maxWall} ${maxWallMs}`, 'for example --max-wall 2h');
  const limits = boundsOf(options);
  if ('problems' in limits) return limits;
  return {
    ...limits,
    vars,
    envPass: limits.envPass ?? [],
    allowDirty: options.allowDirty === true,
    acceptChanges: options.acceptChanges === true,
    ...(options.takeOver === true ? { takeOver: true } : {}),
    ...(options.live === true ? { live: true } : {}),
    ...(options.workdir === undefined ? {} : { workdir: options.workdir }),
    ...(options.holdout === undefined ? {} : { holdout: options.holdout }),
    ...(options.agent === undefined ? {} : { agent: options.agent }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.effort === undefined ? {} : { effort: options.effort }),
    ...(options.script === undefined ? {} : { script: options.script }),
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(maxVisits === undefined ? {} : { maxVisits }),
    ...(maxWallMs === undefined ? {} : { maxWallMs }),
  };
}

/** Why what was given is not the whole number that is wanted. */
function notWhole(flag: string, given = '', least: number, example: number): Refusal {
  const large = /^\d+$/.test(given.trim()) && Number(given) > Number.MAX_SAFE_INTEGER;
  const why = large ? tooLarge : `is not a whole number of at least ${least}`;
  return usage(`${flag} ${given} ${why}`, `for example ${flag} ${example}`);
}

/** Milliseconds, or why it is no length of time. */
function lengthOf(text: string): number | string {
  const read = duration().read({ kind: 'string', text });
  return read.ok ? read.value : read.why;
}

/** The flags about money, tokens, confinement and waiting. */
export function boundsOf(options: BoundOptions): Bounds | Refusal {
  const sandbox = sandboxWords.find((word) => word === options.sandbox);
  if (options.sandbox !== undefined && sandbox === undefined)
    return usage(
      `--sandbox ${options.sandbox} is none of ${sandboxWords.join(', ')}`,
      'for example --sandbox bwrap, which refuses to run where stages cannot be confined',
    );
  const {
    maxCostUsd: usd,
    maxTokens: tokens,
    unknownCost,
    prices,
    parkAfter,
    maxOutage,
    wait,
    now,
  } = options;
  if (usd !== undefined && !/^\d+(?:\.\d+)?$/.test(usd.trim()))
    return usage(`--max-cost-usd ${usd} is not a number of at least 0`, 'for example --max-cost-usd 2.50');
  if (usd !== undefined && !Number.isFinite(Number(usd)))
    return usage(`--max-cost-usd ${usd} is too large`, 'for example --max-cost-usd 2.50');
  if (tokens !== undefined && !(/^\d+$/.test(tokens.trim()) && Number.isSafeInteger(Number(tokens))))
    return notWhole('--max-tokens', tokens, 0, 500_000);
  if (unknownCost !== undefined && unknownCost !== 'stop' && unknownCost !== 'allow')
    return usage(
      `--unknown-cost ${unknownCost} is neither stop nor allow`,
      'for example --unknown-cost allow',
    );
  const parkAfterMs = parkAfter === undefined ? undefined : lengthOf(parkAfter);
  if (typeof parkAfterMs === 'string')
    return usage(`--park-after ${parkAfter} ${parkAfterMs}`, 'for example --park-after 10m');
  const maxOutageMs = maxOutage === undefined ? undefined : lengthOf(maxOutage);
  if (typeof maxOutageMs === 'string')
    return usage(`--max-outage ${maxOutage} ${maxOutageMs}`, 'for example --max-outage 12h');
  const envPass = passedBy(options.envPass);
  if ('problems' in envPass) return envPass;
  return {
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(envPass.names.length === 0 ? {} : { envPass: envPass.names }),
    ...(usd === undefined ? {} : { maxCostUsd: Number(usd) }),
    ...(tokens === undefined ? {} : { maxTokens: Number(tokens) }),
    ...(unknownCost === undefined ? {} : { unknownCost }),
    ...(prices === undefined ? {} : { prices }),
    ...(parkAfterMs === undefined ? {} : { parkAfterMs }),
    ...(maxOutageMs === undefined ? {} : { maxOutageMs }),
    ...(wait === true ? { wait } : {}),
    ...(now === true ? { now } : {}),
  };
}

/** The names that `--env-pass` gives. */
function passedBy(given: readonly string[] = []): { readonly names: readonly string[] } | Refusal {
  const names = given
    .flatMap((list) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const noName = names.find((name) => name !== passesAll && !isVariableName(name));
  return noName === undefined
    ? { names }
    : usage(
        `--env-pass: "${noName}" is no name of a variable`,
        'names stand alone or with commas between them: --env-pass A_KEY,B_TOKEN; * is all of them',
      );
}

/** The limits from flags that have been checked. */
export function checkedBounds(options: BoundOptions): Bounds {
  const bounds = boundsOf(options);
  return 'problems' in bounds ? {} : bounds;
}

/** Tells the end, and turns it into an exit code. */
export async function settle(ended: Finished | Refusal, options: RunOptions, io: RunDoors): Promise<number> {
  if ('problems' in ended) {
    const { code = 2 } = ended;
    await refuse(ended.problems, io, options, code);
    return code;
  }
  const { result } = ended;
  if (options.json === true) io.out(`${JSON.stringify(result, null, 2)}\n`);
  else if (options.quiet !== true || result.status !== 'completed') {
    io.out(`${summary(result, painter(paints(io, io.outIsTerminal, options.color)))}\n`);
  }
  return ended.code;
}
