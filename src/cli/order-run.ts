/** `factory order run` and `factory order run-all`: work orders onto a branch of a repository. */
import { realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { modelFor } from '../app/model-servers.ts';
import type { OrderResult } from '../app/orders/land.ts';
import { withRepositoryLock } from '../app/orders/lock.ts';
import { resumeOrder, runOrder } from '../app/orders/run-order.ts';
import { type BatchItem, runBatch } from '../app/orders/run-plan.ts';
import { type OrderSource, readRequest, readSource } from '../app/orders/sources.ts';
import { type OrderHost, type OrderRefusal, type OrderSettings, refusedOrder } from '../app/orders/types.ts';
import type { Bounds } from '../app/types.ts';
import { inspect } from '../git/repository.ts';
import { orderFiles } from '../run/orders.ts';
import { isWithin, realOrSame } from '../workspace/roots.ts';
import { newRun } from './find-run.ts';
import { boundNames, boundsOf, type OrderRunIo, type RunOptions } from './flags.ts';
import { defaultModel, flagOfOption } from './options.ts';
import { openView, type ViewOptions } from './report/live.ts';
import { printEnd, printInterrupted, progressOf } from './report/order.ts';
import type { VerbResult } from './verb.ts';

/** Options as typed, and commander's defaults. */
export type OrderRunOptions = ViewOptions &
  Omit<Bounds, 'wait' | 'now'> & {
    readonly repo?: string;
    readonly workOrder?: string;
    readonly workdir?: string;
    readonly out?: string;
    readonly artifactsDir?: string;
    readonly runsdir?: string;
    readonly runId?: string;
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
    readonly agent_script?: string;
    readonly provider?: string;
    readonly json?: boolean;
  };

/** Builds one work order. */
export async function orderRun(options: OrderRunOptions, io: OrderRunIo): Promise<VerbResult> {
  const wrong = wrongFlags(options);
  if (wrong !== undefined) return wrong;
  if (options.repo === undefined || options.workOrder === undefined)
    return refusedOrder(2, 'order run needs --repo and --work-order');
  const source = await readSource(resolve(io.cwd, options.workOrder));
  if ('problems' in source) return source;
  return printEnd(await single(source, resolve(io.cwd, options.repo), options, io), options, io);
}

async function single(source: OrderSource, repo: string, options: OrderRunOptions, io: OrderRunIo) {
  // After the order is read: reading a pipe must stay interruptible.
  const host = await hostOf(options, io);
  const settings = settingsOf(repo, null, options, io);
  return withRepositoryLock<OrderResult | OrderRefusal>(repo, host, async (interrupted) => {
    if (interrupted !== undefined) {
      const { digest, result } = interrupted;
      const isSame = digest === source.loaded.digest && (options.branch ?? result.branch) === result.branch;
      if (isSame) return result;
      printInterrupted(result, options, io);
    }
    const there = await inspect(repo, io.env);
    if ('problem' in there) return refusedOrder(1, there.problem, there.fix);
    const place = newRun(settings.runsDir, options.runId, io);
    if ('problems' in place) return { ...place, code: 2 };
    return runOrder(there, source, { ...settings, runId: place.runId }, host);
  });
}

/** Builds all `WO-*.json` of a directory on one branch. */
export async function orderRunAll(options: OrderRunOptions, io: OrderRunIo): Promise<VerbResult> {
  const wrong = wrongFlags(options);
  if (wrong !== undefined) return wrong;
  if (options.repo === undefined || options.workdir === undefined)
    return refusedOrder(2, 'order run-all needs --repo and --workdir');
  const folder = resolve(io.cwd, options.workdir);
  const is = await stat(folder).catch(() => undefined);
  const names = is?.isDirectory() === true ? await orderFiles(folder) : undefined;
  if (names === undefined)
    return refusedOrder(1, `the directory ${folder} does not exist`, 'name one with --workdir');
  if (names.length === 0) return refusedOrder(1, `there are no work orders (WO-*.json) in ${folder}`);
  const items = names.map((name) => ({ name, read: () => readSource(join(folder, name), 'listed') }));
  if (options.json !== true && options.quiet !== true) io.out(`Found ${items.length} work order(s)\n`);
  return batch(items, await realpath(folder), options.repo, options, io);
}

async function batch(
  items: readonly BatchItem[],
  id: string,
  repository: string,
  options: OrderRunOptions,
  io: OrderRunIo,
): Promise<VerbResult> {
  const repo = resolve(io.cwd, repository);
  const host = await hostOf(options, io);
  const progress = progressOf(items.length, options, io);
  const ended = await withRepositoryLock(repo, host, (interrupted) => {
    if (interrupted !== undefined) printInterrupted(interrupted.result, options, io);
    return runBatch(repo, items, settingsOf(repo, id, options, io), host, progress);
  });
  return printEnd(ended, options, io);
}

/** Resumes a run that `factory order run` or `run-all` started. */
export async function resumeOrderRun(
  runDir: string,
  options: RunOptions,
  io: OrderRunIo,
): Promise<VerbResult> {
  const fixed = Object.entries(options).find(
    ([name, value]) => value !== undefined && !resumeFlags.has(name),
  )?.[0];
  if (fixed !== undefined) {
    const flag = flagOfOption(fixed);
    const why = `a resume of a work order cannot change ${flag}`;
    return refusedOrder(2, why, 'leave it out, or start a new run');
  }
  const request = await readRequest(runDir);
  const host = { ...(await hostOf(options, io)), takeOver: options.takeOver === true };
  const ended = await withRepositoryLock<OrderResult | OrderRefusal>(
    request.repo,
    { ...host, resumes: request.run_id },
    (interrupted) => {
      if (interrupted !== undefined) printInterrupted(interrupted.result, options, io);
      return resumeOrder(resolve(io.cwd, runDir), host, boundsOf(options));
    },
  );
  return printEnd(ended, options, io);
}

/** Flags that a resume may have. */
const resumeFlags = new Set<string>([
  ...['runsdir', 'takeOver', 'json', 'quiet', 'verbose', 'color', 'logLevel', 'logFormat'],
  ...boundNames,
]);

function wrongFlags(options: OrderRunOptions): OrderRefusal | undefined {
  if (options.maxAttempts < 1) return refusedOrder(1, '--max-attempts must be at least 1');
  if (options.timeoutSeconds <= 0) return refusedOrder(1, '--timeout-seconds must be more than 0');
  if (options.reuseBranch === true && options.createBranch === true)
    return refusedOrder(1, '--reuse-branch and --create-branch exclude each other', 'give one of them');
  if ((options.reuseBranch === true || options.createBranch === true) && options.branch === undefined)
    return refusedOrder(1, '--reuse-branch and --create-branch need --branch', '--branch NAME');
  const { model, llmModel } = options;
  if (model !== undefined && llmModel !== undefined && model !== llmModel)
    return refusedOrder(
      2,
      `--llm-model ${llmModel} and --model ${model} name two models`,
      'give one of them',
    );
  return undefined;
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
  const choice = { ...options, model: options.llmModel ?? options.model };
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
    model: modelFor(choice, defaultModel, { workdir: repo, env: io.env }) ?? '',
    provider: options.provider,
    temperature: options.llmTemperature,
    maxAttempts: options.maxAttempts,
    timeoutSeconds: options.timeoutSeconds,
    agent: options.agent,
    script: options.agent_script,
    bounds: boundsOf(options),
    batch,
  };
}

async function hostOf(
  options: ViewOptions & { readonly python?: string },
  io: OrderRunIo,
): Promise<OrderHost> {
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
    ownSteps: io.ownSteps,
    ...(io.called === undefined ? {} : { called: io.called }),
  };
}
