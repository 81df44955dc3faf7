/** Checks work orders, their commits, and the delivered branch. */
import { existsSync } from 'node:fs';
import type { Environment } from '../core/contracts/process.ts';
import type { Checkpoint } from '../core/records/checkpoint.ts';
import { headText, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { type Commit, commitSchema } from '../core/records/result.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { type CommitFacts, lookAtBranch, lookAtHistory } from '../git/check-history.ts';
import { readHistoryStart } from '../git/history.ts';
import { recordedHead } from '../git/recorded-head.ts';
import { loadOrders } from '../run/orders.ts';
import type { Findings } from './report.ts';

const where = 'history.git';

/** The commits of a run in order, as its context names them. */
export function recordedCommits(checkpoint: Checkpoint): readonly (Commit & { readonly commit: string })[] {
  const read = commitSchema().array().safeParse(checkpoint.context['build.commits']);
  return read.success
    ? read.data.flatMap((one) => (one.commit === null ? [] : [{ ...one, commit: one.commit }]))
    : [];
}

/** Checks `history.git`. `underWay`: a node was interrupted, which may have moved refs. */
export async function checkHistory(
  run: {
    readonly dir: string;
    readonly manifest: Manifest;
    readonly checkpoint: Checkpoint;
    readonly records: readonly RunRecord[];
    readonly underWay: boolean;
  },
  env: Environment,
  found: Findings,
): Promise<void> {
  const { history, workspace } = layout(run.dir);
  if (run.manifest.git === undefined) {
    if (existsSync(history)) found.add('added', where, 'the run started without a history');
    return;
  }
  if (!existsSync(history)) {
    found.add('missing', where, 'the history of the run is missing');
    return;
  }
  const commits = recordedCommits(run.checkpoint);
  const ids = commits.map(({ commit }) => commit);
  const look = await lookAtHistory(history, ids, env);
  if (!look.ok) {
    if (look.foreign === true) found.add('changed', where, look.why);
    found.cannot(`the history and its commits: ${look.why}`);
    return;
  }
  for (const line of look.damage.slice(0, 20)) found.add('history', where, `git fsck: ${line}`);
  if (look.head !== headText)
    found.add('changed', `${where}/HEAD`, 'it names another branch', {
      should: headText.trim(),
      is: look.head.trim(),
    });
  // A changed or missing file is reported with the immutable files.
  const start = await readHistoryStart(history).catch(() => undefined);
  const parents = [start?.first_commit ?? '', ...ids];
  await checkCommits(run, workspace, commits, look.commits, parents, found);
  if (run.underWay) {
    found.cannot('the refs of the history: the run was stopped while a node ran');
    return;
  }
  const last = recordedHead(run.checkpoint.tool_state, start?.first_commit ?? null) ?? '';
  for (const [name, is] of [
    ['refs/factory/head', look.refs.head],
    ['refs/heads/factory', look.refs.branch],
  ] as const)
    if (is !== last)
      found.add('changed', `${where}/${name}`, 'it is not the last commit of the run', {
        should: last || 'no commit',
        is: is || 'no commit',
      });
}

/** Each commit against the record of it, its work order, and the commit before it: the one of the same place in
 *  `parents`. */
async function checkCommits(
  run: { readonly manifest: Manifest; readonly records: readonly RunRecord[] },
  workspace: string,
  commits: ReturnType<typeof recordedCommits>,
  inGit: ReadonlyMap<string, CommitFacts>,
  parents: readonly string[],
  found: Findings,
): Promise<void> {
  const loaded = await loadOrders(workspace, { allowExempt: true });
  const orders = 'orders' in loaded ? loaded.orders : [];
  const digests = new Map(orders.map(({ order, digest }) => [order.id, digest]));
  const inherited = inheritedCommits(run.manifest, run.records);
  for (const [at, { commit, work_order: order, subject }] of commits.entries()) {
    const facts = inGit.get(commit);
    const called = `commit ${commit.slice(0, 12)} (${order})`;
    if (facts === undefined) {
      found.add('missing', where, `${called} is missing`, { should: commit });
      continue;
    }
    found.count('commits');
    const check = (what: string, should: string, is: string) => {
      if (should !== is) found.add('history', where, `${called}: ${what}`, { should, is });
    };
    check('it is built on another commit', parents[at] ?? '', facts.parents.join(' '));
    check('its subject is another one', subject, facts.subject);
    check('it names another work order', order, facts.order);
    if (!inherited.has(commit)) check('it names another run', run.manifest.run_id, facts.run);
    const digest = digests.get(order);
    if (digest !== undefined) {
      found.count('work orders');
      check('its work order has another text than the one in the workspace', digest, facts.digest);
    } else if (orders.length > 0)
      found.add('history', where, `${called}: there is no such order in the workspace`);
  }
}

/** Commits of another run: inherited by a fork, or taken from the replayed record. */
function inheritedCommits(manifest: Manifest, records: readonly RunRecord[]): ReadonlySet<string> {
  // A number of records: their lines have numbers of the whole journal.
  const until = manifest.forked_from?.seq ?? 1;
  const names = new Set<string>();
  for (const [at, record] of records.entries()) {
    if (record.type !== 'Visit' || (at >= until && record.replayed === undefined)) continue;
    const read = commitSchema().array().safeParse(record.context.set['build.commits']);
    for (const { commit } of read.success ? read.data : []) if (commit !== null) names.add(commit);
  }
  return names;
}

/** Whether the branch that the commits were delivered to still has them. */
export async function checkDelivery(
  checkpoint: Checkpoint,
  to: { readonly repo: string; readonly branch: string },
  env: Environment,
  found: Findings,
): Promise<void> {
  const last = recordedCommits(checkpoint).at(-1)?.commit;
  if (last === undefined) {
    found.add('delivery', to.repo, 'the run has made no commits that could have been delivered');
    return;
  }
  const look = await lookAtBranch(to.repo, to.branch, last, env);
  found.count('branches');
  if ('problem' in look) found.add('delivery', to.repo, look.problem, { should: last });
  else if (!look.has)
    found.add('delivery', to.repo, `the branch "${to.branch}" does not have the commits of the run`, {
      should: last,
      is: look.at,
    });
  else if (look.at !== last)
    found.add(
      'delivery',
      to.repo,
      `the branch "${to.branch}" has the commits of the run, and others after them`,
      { should: last, is: look.at },
      'note',
    );
}
