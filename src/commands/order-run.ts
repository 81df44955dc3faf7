/** `factory order run` and `factory order run-all`: work orders onto a branch of a repository. */
import { realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { orderFiles } from '../builder/orders.ts';
import { inspect } from '../builder/repository.ts';
import { type BatchItem, runBatch } from '../executor/batch.ts';
import { withRepository } from '../executor/hold.ts';
import { type OrderRefusal, refused } from '../executor/refusal.ts';
import { findRequest, type OrderRequest, StoredFlags } from '../executor/request.ts';
import { type OrderDoors, type OrderSettings, resumeOrder, runOrder } from '../executor/run.ts';
import type { OrderResult } from '../executor/settle.ts';
import { type OrderSource, readSources } from '../executor/source.ts';
import { findRun, namedRun, newRunId, validRunId } from '../store/run-store.ts';
import { DiskStop, diskTrouble } from '../system/disk-trouble.ts';
import type { Spawn } from '../system/spawn.ts';
import { isWithin, realOrSame } from '../workspace/dirs.ts';
import { defaultModel, orderDefaults } from './order-flags.ts';
import { printEnd, printInterrupted, progressOf } from './order-print.ts';
import { type BoundOptions, boundNames, boundsOf, checkedBounds } from './run.ts';
import { diskWords } from './trouble.ts';
import { openView, type ViewIo, type ViewOptions } from './view.ts';

/** Options as typed, and commander's defaults. */
export type OrderRunOptions = ViewOptions &
  Omit<BoundOptions, 'wait' | 'now' | 'parkAfter'> & {
    readonly repo?: string;
    readonly workOrder?: string;
    readonly workdir?: string;
    readonly out?: string;
    readonly artifactsDir?: string;
    readonly runsdir?: string;
    readonly runId?: string;
    readonly resume?: boolean;
    /** Of a resume, as `now` and `takeOver`: see `RunFlags`. */
    readonly wait?: boolean;
    readonly now?: boolean;
    readonly takeOver?: boolean;
    readonly maxAttempts: number;
    readonly llmModel?: string;
    readonly llmTemperature?: number;
    readonly model?: string;
    readonly timeoutSeconds: number;
    readonly commitHash?: string;
    readonly branch?: string;
    readonly reuseBranch?: boolean;
    readonly createBranch?: boolean;
    readonly push: boolean;
    readonly allowVerifyExempt?: boolean;
    readonly python?: string;
    readonly agent?: string;
    readonly script?: string;
    readonly json?: boolean;
  };

export type OrderRunIo = ViewIo & {
  readonly spawn: Spawn;
  readonly signal: () => AbortSignal;
};

/** Builds one work order; a plan with several is a batch. Answers with the exit code. */
export async function orderRun(options: OrderRunOptions, io: OrderRunIo): Promise<number> {
  const wrong = wrongFlags(options);
  if (wrong !== undefined) return printEnd(wrong, options, io);
  if (options.resume === true) return printEnd(await resume(options, io), options, io);
  if (options.repo === undefined || options.workOrder === undefined)
    return printEnd(refused(2, 'order run needs --repo and --work-order'), options, io);
  const path = resolve(io.cwd, options.workOrder);
  const sources = await readSources(path);
  if ('problems' in sources) return printEnd(sources, options, io);
  if (sources.length > 1) {
    if (options.runId === undefined) {
      const items = sources.map((one) => ({ name: one.loaded.order.id, read: async () => one }));
      return batch(items, path, options.repo, options, io);
    }
    const why = `--run-id names one run, and ${options.workOrder} has ${sources.length} work orders with a run each`;
    return printEnd(refused(2, why, 'leave out --run-id'), options, io);
  }
  const [source] = sources;
  if (source === undefined) throw new Error('Internal: a work order file without orders');
  return printEnd(await single(source, resolve(io.cwd, options.repo), options, io), options, io);
}

async function single(source: OrderSource, repo: string, options: OrderRunOptions, io: OrderRunIo) {
  // After the order is read: reading a pipe must stay interruptible.
  const doors = await doorsOf(options, io);
  const settings = settingsOf(repo, null, options, io);
  return withRepository<OrderResult | OrderRefusal>(repo, doors, async (interrupted) => {
    if (interrupted !== undefined) {
      const { digest, result } = interrupted;
      const isSame = digest === source.loaded.digest && (options.branch ?? result.branch) === result.branch;
      if (isSame) return result;
      printInterrupted(result, options, io);
    }
    const there = await inspect(repo, io.env);
    if ('problem' in there) return refused(1, there.problem, there.fix);
    const runId = options.runId ?? newRunId(io.clock);
    const bad = validRunId(runId);
    if (bad !== undefined) return refused(2, bad);
    const dir = join(settings.runsDir, runId);
    if ((await stat(dir).catch(() => undefined)) === undefined)
      return runOrder(there, source, { ...settings, runId }, doors);
    const fix = `factory order run --resume --run-id ${namedRun(dir, io.cwd)}`;
    return refused(2, `there is a run "${runId}" in ${settings.runsDir} already`, fix);
  });
}

/** Builds all `WO-*.json` of a directory on one branch. Answers with the exit code. */
export async function orderRunAll(options: OrderRunOptions, io: OrderRunIo): Promise<number> {
  const wrong = wrongFlags(options);
  if (wrong !== undefined) return printEnd(wrong, options, io);
  if (options.repo === undefined || options.workdir === undefined)
    return printEnd(refused(2, 'order run-all needs --repo and --workdir'), options, io);
  const folder = resolve(io.cwd, options.workdir);
  const is = await stat(folder).catch(() => undefined);
  const names = is?.isDirectory() === true ? await orderFiles(folder) : undefined;
  if (names === undefined)
    return printEnd(
      refused(1, `the directory ${folder} does not exist`, 'name one with --workdir'),
      options,
      io,
    );
  if (names.length === 0)
    return printEnd(refused(1, `there are no work orders (WO-*.json) in ${folder}`), options, io);
  const items = names.map((name) => ({
    name,
    read: async () => {
      const found = await readSources(join(folder, name), 'listed');
      if ('problems' in found) return found;
      const [source] = found;
      return source === undefined || found.length > 1
        ? refused(1, `${name} has several work orders`)
        : source;
    },
  }));
  if (options.json !== true && options.quiet !== true) io.out(`Found ${items.length} work order(s)\n`);
  return batch(items, await realpath(folder), options.repo, options, io);
}

async function batch(
  items: readonly BatchItem[],
  id: string,
  repository: string,
  options: OrderRunOptions,
  io: OrderRunIo,
): Promise<number> {
  const repo = resolve(io.cwd, repository);
  const doors = await doorsOf(options, io);
  const progress = progressOf(items.length, options, io);
  try {
    const ended = await withRepository(repo, doors, (interrupted) => {
      if (interrupted !== undefined) printInterrupted(interrupted.result, options, io);
      return runBatch(repo, items, settingsOf(repo, id, options, io), doors, progress);
    });
    return await printEnd(ended, options, io);
  } catch (error) {
    // The disk stops the whole batch. With --commit-hash the same command would start again from there.
    const trouble = diskTrouble(error);
    const again = io.called?.again;
    if (trouble === undefined || again === undefined || options.commitHash !== undefined) throw error;
    const what = error instanceof DiskStop ? error.message : diskWords(trouble);
    throw new DiskStop(what, `fix that (space, permissions, the disk or its mount), then: ${again}`, error);
  }
}

async function resume(options: OrderRunOptions, io: OrderRunIo): Promise<OrderResult | OrderRefusal> {
  if (options.runId === undefined)
    return refused(2, '--resume needs --run-id', 'factory order run --resume --run-id ID');
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), options.runId);
  if (!found.ok) return refused(2, found.why);
  const request = await findRequest(found.dir);
  if (request === undefined) {
    const why = `${options.runId} was not started by "factory order run"`;
    return refused(2, why, `factory resume ${namedRun(found.dir, io.cwd)}`);
  }
  const flag = changedFlag(options, request);
  if (flag !== undefined)
    return refused(2, `a resume cannot change ${flag}`, 'leave it out, or start a new run');
  const doors = { ...(await doorsOf(options, io)), takeOver: options.takeOver === true };
  return withRepository<OrderResult | OrderRefusal>(
    request.repo,
    { ...doors, resumes: request.run_id },
    (interrupted) => {
      if (interrupted !== undefined) printInterrupted(interrupted.result, options, io);
      return resumeOrder(resolve(io.cwd, found.dir), doors, checkedBounds(options));
    },
  );
}

/** Flags that a resume takes anew. */
const resumeFlags = new Set<string>([
  ...['runId', 'resume', 'runsdir', 'takeOver', 'wait', 'now', ...boundNames],
  ...['json', 'quiet', 'verbose', 'color', 'logLevel', 'logFormat', 'python'],
]);

/** The flags that a resume cannot change, without defaults. */
function startFlags(options: OrderRunOptions): readonly (readonly [name: string, value: unknown])[] {
  const defaults: Readonly<Record<string, unknown>> = orderDefaults;
  return Object.entries(options).filter(
    ([name, value]) => value !== undefined && !resumeFlags.has(name) && value !== defaults[name],
  );
}

function changedFlag(options: OrderRunOptions, { flags }: OrderRequest): string | undefined {
  const changed = startFlags(options).find(([name, value]) => flags[name] !== value)?.[0];
  if (changed === undefined) return undefined;
  const name = changed === 'push' ? 'no-push' : changed;
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function wrongFlags(options: OrderRunOptions): OrderRefusal | undefined {
  if (options.maxAttempts < 1) return refused(1, '--max-attempts must be at least 1');
  if (options.timeoutSeconds <= 0) return refused(1, '--timeout-seconds must be more than 0');
  if (options.reuseBranch === true && options.createBranch === true)
    return refused(1, '--reuse-branch and --create-branch exclude each other', 'give one of them');
  if ((options.reuseBranch === true || options.createBranch === true) && options.branch === undefined)
    return refused(1, '--reuse-branch and --create-branch need --branch', '--branch NAME');
  const { model, llmModel } = options;
  if (model !== undefined && llmModel !== undefined && model !== llmModel)
    return refused(2, `--llm-model ${llmModel} and --model ${model} name two models`, 'give one of them');
  if (options.resume !== true && (options.takeOver === true || options.now === true)) {
    const flag = options.now === true ? '--now' : '--take-over';
    return refused(2, `${flag} needs --resume`, `factory order run --resume --run-id ID ${flag}`);
  }
  const bounds = boundsOf(options);
  return 'problems' in bounds ? { ...bounds, code: 2 } : undefined;
}

function settingsOf(
  repo: string,
  batch: string | null,
  options: OrderRunOptions,
  io: OrderRunIo,
): OrderSettings {
  const place = (path: string) => realOrSame(resolve(io.cwd, path));
  const runsDir = place(options.runsdir ?? '.factory/runs');
  const named = options.artifactsDir ?? (io.env['ARTIFACTS_DIR'] || undefined);
  const usual = place('artifacts');
  // In the repository itself the usual place would make its tree dirty.
  const artifacts = isWithin(realOrSame(repo), usual) ? join(runsDir, '..', 'artifacts') : usual;
  const model = options.llmModel ?? options.model ?? (io.env['FACTORY_MODEL'] || io.env['OPENAI_MODEL']);
  return {
    runsDir,
    artifacts: named === undefined ? artifacts : place(named),
    out: options.out === undefined ? undefined : place(options.out),
    branch: options.branch,
    reuse: options.reuseBranch === true,
    create: options.createBranch === true,
    commit: options.commitHash,
    push: options.push,
    allowExempt: options.allowVerifyExempt === true,
    model: model || defaultModel,
    temperature: options.llmTemperature,
    maxAttempts: options.maxAttempts,
    timeoutSeconds: options.timeoutSeconds,
    agent: options.agent,
    script: options.script,
    bounds: checkedBounds(options),
    batch,
    flags: StoredFlags.parse(Object.fromEntries(startFlags(options))),
  };
}

async function doorsOf(options: OrderRunOptions, io: OrderRunIo): Promise<OrderDoors> {
  const view = await openView(options, io);
  if (options.python !== undefined)
    view.log('info', '--python has no effect: commands run with the PATH of this process');
  return {
    cwd: io.cwd,
    env: io.env,
    clock: io.clock,
    signal: io.signal(),
    watcher: view.watcher,
    log: view.log,
    spawn: io.spawn,
    ...(io.called === undefined ? {} : { called: io.called }),
  };
}
