/** Several work orders, one after the other, onto one branch. */
import { appliedOrders } from '../builder/history.ts';
import { inspect, type Repository } from '../builder/repository.ts';
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
    const tip = await tipOf(there, branch, doors);
    const commit = await committed(there, tip.commit, source, doors);
    if (commit !== undefined) {
      // A branch that holds an order of this batch is this batch's branch.
      if (tip.exists) ours = true;
      else if (branch === undefined && there.branch.startsWith('factory/'))
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
    const resumed = left === undefined ? undefined : await resumeOrder(left, doors);
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

/** Where the next order begins: the branch's own tip, else HEAD or what was asked for. */
async function tipOf(
  repo: Repository,
  branch: string | undefined,
  doors: OrderDoors,
): Promise<{ readonly commit: string; readonly exists: boolean }> {
  if (branch === undefined) return { commit: repo.head, exists: false };
  const found = await sourceGit(repo.top, doors.env).run([
    'rev-parse',
    '--verify',
    '--quiet',
    `refs/heads/${branch}^{commit}`,
  ]);
  return found.ok ? { commit: found.text, exists: true } : { commit: repo.head, exists: false };
}

/** The commit that carried the order out, as long as what it promised is still there. */
async function committed(
  repo: Repository,
  tip: string,
  source: Source,
  doors: OrderDoors,
): Promise<string | undefined> {
  const commit = (await appliedOrders(repo.top, tip, doors.env))[source.loaded.digest];
  if (commit === undefined) return undefined;
  const git = sourceGit(repo.top, doors.env);
  for (const { path } of source.loaded.order.postconditions) {
    if (!(await git.run(['cat-file', '-e', `${tip}:${path}`])).ok) return undefined;
  }
  return commit;
}

/** The newest run of the same order that begins at the same commit and was cut, or ended without its branch moved. */
async function leftBehind(
  repo: Repository,
  source: Source,
  wish: Wish,
  baseline: string,
  doors: OrderDoors,
): Promise<string | undefined> {
  if (wish.batch === null || wish.commit !== undefined) return undefined;
  for (const run of await listRuns(wish.runsDir, doors.clock)) {
    if (!['interrupted', 'crashed', 'completed'].includes(run.status)) continue;
    const request = await readRequest(run.dir).catch(() => undefined);
    if (request === undefined || request.batch !== wish.batch || request.repo !== repo.top) continue;
    if (request.digest !== source.loaded.digest || request.baseline !== baseline) continue;
    if (wish.branch === undefined ? request.branch_mode === 'auto' : request.branch === wish.branch)
      return run.dir;
  }
  return undefined;
}
