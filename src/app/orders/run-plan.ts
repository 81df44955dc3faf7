/** Several work orders, one after the other, onto one branch. */
import { pausedWords } from '../../core/outcome.ts';
import { commitNamed, inspect, type Repository } from '../../git/repository.ts';
import { appliedOrders } from '../../git/start-history.ts';
import { sourceGit } from '../../platform/git.ts';
import { newRunId } from '../../run/runs.ts';
import { listRuns } from '../../run/summary.ts';
import { hadNoEffect, type OrderResult } from './land.ts';
import { resumeOrder, runOrder } from './run-order.ts';
import { findRequest, type OrderSource } from './sources.ts';
import { type OrderHost, type OrderRefusal, type OrderSettings, refusedOrder } from './types.ts';

/** The name of an order's file, and how to read it when its turn comes. */
export type BatchItem = {
  readonly name: string;
  readonly read: () => Promise<OrderSource | OrderRefusal>;
};

export type BatchResult = {
  readonly exit_code: number;
  readonly branch: string | null;
  readonly orders: readonly ({ readonly name: string } & (
    | { readonly skipped: true; readonly commit: string; readonly work_order_id: string }
    | ({ readonly skipped: false } & OrderResult)
  ))[];
};
/** `orders`: those before the refusal. */
export type BatchRefusal = OrderRefusal & Pick<BatchResult, 'orders'>;

export type BatchProgress = {
  begins(number: number, name: string, title: string): void;
  skips(commit: string): void;
  ends(result: OrderResult): void;
};

/** Stops at the first order that fails, with its exit code; one that changes nothing is named, and the next one follows: the
 *  exit code is 1 only if no order has done anything. Orders that the branch has commits of are skipped; a run of the
 *  same batch that was interrupted at the same commit is resumed. */
export async function runBatch(
  repo: string,
  items: readonly BatchItem[],
  settings: OrderSettings,
  host: OrderHost,
  progress: BatchProgress,
): Promise<BatchResult | BatchRefusal> {
  const orders: BatchResult['orders'][number][] = [];
  const stop = (why: OrderRefusal): BatchRefusal => ({ ...why, orders });
  let { branch } = settings;
  // Whether an order of this batch is on the branch.
  let hasBatch = false;
  for (const [at, { name, read }] of items.entries()) {
    if (host.signal.aborted) return { exit_code: 130, branch: branch ?? null, orders };
    const source = await read();
    if ('problems' in source) return stop(source);
    progress.begins(at + 1, name, source.loaded.order.title);
    const there = await inspect(repo, host.env);
    if ('problem' in there) return stop(refusedOrder(1, there.problem, there.fix));
    // Without --branch, the batch continues on the branch that an earlier command has left checked out.
    branch ??=
      settings.commit === undefined && there.branch.startsWith('factory/') ? there.branch : undefined;
    const tip = await tipOf(there, branch, settings.commit, host);
    const commit = await committed(there, tip.commit, source, host);
    if (commit !== undefined) {
      hasBatch ||= tip.onBranch;
      progress.skips(commit);
      orders.push({ name, skipped: true, commit, work_order_id: source.loaded.order.id });
      continue;
    }
    if (settings.branch === undefined && !hasBatch) branch = undefined;
    const orderSettings: OrderSettings = {
      ...settings,
      branch,
      auto: settings.branch === undefined,
      reuse: hasBatch || settings.reuse,
      create: !hasBatch && settings.create,
    };
    const result = await resumeOrStart(there, source, orderSettings, tip.commit, host);
    if ('problems' in result) return stop(result);
    progress.ends(result);
    orders.push({ name, skipped: false, ...result });
    if (result.verdict === 'NO_CHANGE') continue;
    branch = result.branch;
    if (result.exit_code !== 0) return { exit_code: result.exit_code, branch, orders };
    hasBatch = true;
  }
  const isIdle = orders.length > 0 && orders.every((one) => !one.skipped && one.verdict === 'NO_CHANGE');
  return { exit_code: isIdle ? 1 : 0, branch: branch ?? null, orders };
}

/** The commit with which the next order begins; undefined where `commit` names none, which the order's start refuses. */
async function tipOf(
  repo: Repository,
  branch: string | undefined,
  commit: string | undefined,
  { env }: OrderHost,
): Promise<{ readonly commit: string | undefined; readonly onBranch: boolean }> {
  const git = sourceGit(repo.top, env);
  const tip = branch === undefined ? undefined : await commitNamed(git, `refs/heads/${branch}`);
  if (tip !== undefined) return { commit: tip, onBranch: true };
  return { commit: commit === undefined ? repo.head : await commitNamed(git, commit), onBranch: false };
}

/** The order's commit, if all files that the order promises still exist. */
async function committed(
  repo: Repository,
  tip: string | undefined,
  { loaded }: OrderSource,
  { env }: OrderHost,
): Promise<string | undefined> {
  if (tip === undefined) return undefined;
  const commit = (await appliedOrders(repo.top, tip, env))[loaded.digest];
  const git = sourceGit(repo.top, env);
  for (const { path } of commit === undefined ? [] : loaded.order.postconditions)
    if (!(await git.run(['cat-file', '-e', `${tip}:${path}`])).ok) return undefined;
  return commit;
}

async function resumeOrStart(
  repo: Repository,
  source: OrderSource,
  settings: OrderSettings,
  tip: string | undefined,
  host: OrderHost,
): Promise<OrderResult | OrderRefusal> {
  const runDir = await interruptedRun(repo, source, settings, tip, host);
  if (runDir !== undefined) {
    const resumed = await resumeOrder(runDir, host, settings.bounds);
    if (!('problems' in resumed)) return resumed;
    const why = resumed.problems[0]?.message ?? '';
    host.log('warn', `an interrupted run cannot be resumed, so a new one starts: ${why}`);
  }
  return runOrder(repo, source, { ...settings, runId: newRunId(host.clock) }, host);
}

/** The newest run of the same order that began at the same commit and was interrupted, or whose commits did not land. */
async function interruptedRun(
  repo: Repository,
  { loaded }: OrderSource,
  { batch, commit, branch, auto, runsDir }: OrderSettings,
  tip: string | undefined,
  { clock }: OrderHost,
): Promise<string | undefined> {
  if (commit !== undefined) return undefined;
  for (const { dir, status } of await listRuns(runsDir, clock)) {
    if (!['interrupted', 'crashed', 'completed', ...pausedWords].includes(status)) continue;
    const request = await findRequest(dir).catch(() => undefined);
    if (request?.batch !== batch || request.repo !== repo.top) continue;
    if (request.digest !== loaded.digest || request.baseline !== tip) continue;
    if (await hadNoEffect(request)) continue;
    if (branch === undefined ? auto === true && request.branch_mode === 'auto' : request.branch === branch)
      return dir;
  }
  return undefined;
}
