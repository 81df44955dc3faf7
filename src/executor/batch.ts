/** Several work orders, one after the other, onto one branch. */
import { appliedOrders } from '../builder/history.ts';
import { headRef, historyGit } from '../builder/in-history.ts';
import { inspect, type Repository } from '../builder/repository.ts';
import { layout } from '../model/layout.ts';
import { pausedWords } from '../model/park.ts';
import { listRuns, newRunId } from '../store/run-store.ts';
import { sourceGit } from '../system/git.ts';
import { readRequest } from './request.ts';
import {
  type OrderDoors,
  type Refused,
  refused,
  resumeOrder,
  runOrder,
  type Source,
  type Told,
  type Wish,
} from './run.ts';

/** One item of a batch: its file's name, and how to read it when its turn comes. */
export type Item = { readonly name: string; readonly read: () => Promise<Source | Refused> };

export type BatchTold = {
  readonly exit_code: number;
  readonly branch: string | null;
  readonly orders: readonly ({ readonly name: string } & (
    | { readonly skipped: true; readonly commit: string; readonly work_order_id: string }
    | ({ readonly skipped: false } & Told)
  ))[];
};

/** What is told as it happens. */
export type Teller = {
  begins(at: number, name: string, title: string): void;
  skips(commit: string): void;
  ends(told: Told): void;
};

/** Stops at the first that fails, with its code. Orders that the branch's commits say they carried out are stepped over,
 *  and a run that an earlier batch left behind at the same place is gone on with. */
export async function runBatch(
  repo: string,
  items: readonly Item[],
  wish: Omit<Wish, 'runId'>,
  doors: OrderDoors,
  tell: Teller,
): Promise<BatchTold | (Refused & { readonly orders: BatchTold['orders'] })> {
  const orders: BatchTold['orders'][number][] = [];
  let branch: string | undefined = wish.branch;
  let ours = false;
  for (const [at, { name, read }] of items.entries()) {
    const stop = (why: Refused) => ({ ...why, orders });
    if (doors.signal.aborted) return { exit_code: 130, branch: branch ?? null, orders };
    const source = await read();
    if ('problems' in source) return stop(source);
    tell.begins(at + 1, name, source.loaded.order.title);
    const there = await inspect(repo, doors.env);
    if ('problem' in there) return stop(refused(1, there.problem, there.fix));
    let tip = await tipOf(there, branch, wish.commit, doors);
    let commit = await committed(there, tip.commit, source, doors);
    if (commit === undefined && branch === undefined) {
      branch = await wentFurther(there, source, wish, tip.commit, doors);
      ours = branch !== undefined;
      if (ours) tip = await tipOf(there, branch, undefined, doors);
      if (ours) commit = await committed(there, tip.commit, source, doors);
    }
    if (commit !== undefined) {
      // A branch that holds an order of this batch is this batch's branch.
      if (tip.exists) ours = true;
      else if (branch === undefined && wish.commit === undefined && there.branch.startsWith('factory/'))
        [branch, ours] = [there.branch, true];
      tell.skips(commit);
      orders.push({ name, skipped: true, commit, work_order_id: source.loaded.order.id });
      continue;
    }
    const asked: Wish = {
      ...wish,
      branch,
      auto: wish.branch === undefined,
      reuse: ours || wish.reuse,
      create: !ours && wish.create,
      runId: newRunId(doors.clock),
    };
    const left = await leftBehind(there, source, asked, tip.commit, doors);
    // What is given now counts for an order that goes on, too: it may be there to spend less.
    const resumed = left === undefined ? undefined : await resumeOrder(left.dir, doors, wish.bounds);
    if (resumed !== undefined && 'problems' in resumed)
      doors.log(
        'warn',
        `an interrupted run cannot be gone on with, so a new one begins: ${resumed.problems[0]?.message ?? ''}`,
      );
    const told: Told | Refused =
      resumed !== undefined && !('problems' in resumed)
        ? resumed
        : await runOrder(there, source, asked, doors);
    if ('problems' in told) return stop(told);
    tell.ends(told);
    orders.push({ name, skipped: false, ...told });
    if (told.exit_code !== 0) return { exit_code: told.exit_code, branch: told.branch, orders };
    [branch, ours] = [told.branch, true];
  }
  return { exit_code: 0, branch: branch ?? null, orders };
}

/** Where the next order begins: the branch's own tip, else what was asked for, or HEAD. No commit where what was asked for
 *  is none: the order's own start refuses that. */
async function tipOf(
  repo: Repository,
  branch: string | undefined,
  asked: string | undefined,
  doors: OrderDoors,
): Promise<{ readonly commit: string | undefined; readonly exists: boolean }> {
  const git = sourceGit(repo.top, doors.env);
  const named = (revision: string) =>
    git.run(['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]);
  const found = branch === undefined ? undefined : await named(`refs/heads/${branch}`);
  if (found?.ok === true) return { commit: found.text, exists: true };
  if (asked === undefined) return { commit: repo.head, exists: false };
  const from = await named(asked);
  return { commit: from.ok ? from.text : undefined, exists: false };
}

/** The commit that carried the order out, as long as what it promised is still there. */
async function committed(
  repo: Repository,
  tip: string | undefined,
  source: Source,
  doors: OrderDoors,
): Promise<string | undefined> {
  if (tip === undefined) return undefined;
  const commit = (await appliedOrders(repo.top, tip, doors.env))[source.loaded.digest];
  if (commit === undefined) return undefined;
  const git = sourceGit(repo.top, doors.env);
  for (const { path } of source.loaded.order.postconditions) {
    if (!(await git.run(['cat-file', '-e', `${tip}:${path}`])).ok) return undefined;
  }
  return commit;
}

type Left = { readonly dir: string; readonly status: string; readonly branch: string };

/** The newest run of the same order that begins at the same commit and was cut, or ended without its branch moved. */
async function leftBehind(
  repo: Repository,
  source: Source,
  wish: Omit<Wish, 'runId'>,
  baseline: string | undefined,
  doors: OrderDoors,
): Promise<Left | undefined> {
  if (wish.batch === null || wish.commit !== undefined) return undefined;
  for (const { dir, status } of await listRuns(wish.runsDir, doors.clock)) {
    if (!['interrupted', 'crashed', 'completed', ...pausedWords].includes(status)) continue;
    const request = await readRequest(dir).catch(() => undefined);
    if (request === undefined || request.batch !== wish.batch || request.repo !== repo.top) continue;
    if (request.digest !== source.loaded.digest || request.baseline !== baseline) continue;
    if (wish.branch === undefined ? request.branch_mode === 'auto' : request.branch === wish.branch)
      return { dir, status, branch: request.branch };
  }
  return undefined;
}

/** The branch of an earlier batch where it holds the order, and more than it by now: whoever has gone back to where that
 *  batch began goes on with its branch. */
async function wentFurther(
  repo: Repository,
  source: Source,
  wish: Omit<Wish, 'runId'>,
  baseline: string | undefined,
  doors: OrderDoors,
): Promise<string | undefined> {
  const left = await leftBehind(repo, source, wish, baseline, doors);
  if (left?.status !== 'completed') return undefined;
  const tip = await tipOf(repo, left.branch, undefined, doors);
  const head = await historyGit(layout(left.dir).history, doors.env).run(['rev-parse', headRef]);
  if (!tip.exists || tip.commit === undefined || !head.ok || head.text === tip.commit) return undefined;
  const way = ['merge-base', '--is-ancestor', head.text, tip.commit];
  return (await sourceGit(repo.top, doors.env).run(way)).ok ? left.branch : undefined;
}
