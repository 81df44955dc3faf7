/** From the plan to the commits: work orders, the commits that carry them out, and where those were delivered. */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { lookAtBranch, lookAtHistory } from '../builder/check-history.ts';
import { headText, inHistory, readHistoryStart } from '../builder/in-history.ts';
import { loadOrders } from '../builder/orders.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import { inWorkspace, layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { Commit } from '../model/result.ts';
import type { RunRecord } from '../model/visit-record.ts';
import type { Environment } from '../system/git.ts';
import { readPlain } from '../system/read.ts';
import { treeOf } from '../workspace/inspect.ts';
import type { Findings } from './report.ts';

const where = 'history.git';

/** The commits of a run in order, as its context names them. */
export function commitsOf(checkpoint: Checkpoint): readonly (Commit & { readonly commit: string })[] {
  const read = Commit.array().safeParse(checkpoint.context['build.commits']);
  return read.success
    ? read.data.flatMap((one) => (one.commit === null ? [] : [{ ...one, commit: one.commit }]))
    : [];
}

/** `underWay`: a stage was cut, which may have moved refs or left an object half written. */
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
    if (existsSync(history)) found.add('added', where, 'the run was not begun with a history');
    return;
  }
  if (!existsSync(history)) {
    found.add('missing', where, 'the history of the run is gone');
    return;
  }
  const commits = commitsOf(run.checkpoint);
  const look = await lookAtHistory(
    history,
    commits.map(({ commit }) => commit),
    env,
  );
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
  await checkStates(run, found);
  // That the file is changed or gone is told where the kept files are.
  const start = await readHistoryStart(history).catch(() => undefined);
  let parent = start?.first_commit ?? null;
  const orders = new Map<string, string>();
  const loaded = await loadOrders(workspace, { allowExempt: true });
  if ('orders' in loaded) for (const { order, digest } of loaded.orders) orders.set(order.id, digest);
  const inherited = inheritedCommits(run.manifest, run.records);
  for (const { commit, work_order: order, subject } of commits) {
    const facts = look.commits.get(commit);
    const called = `commit ${commit.slice(0, 12)} (${order})`;
    if (facts === undefined) {
      found.add('missing', where, `${called} is gone`, { should: commit });
      continue;
    }
    found.count('commits');
    const check = (what: string, should: string, is: string) => {
      if (should !== is) found.add('history', where, `${called}: ${what}`, { should, is });
    };
    check('it is built on another commit', parent ?? '', facts.parents.join(' '));
    check('its subject is another one', subject, facts.subject);
    check('it says that it carries out another order', order, facts.order);
    if (!inherited.has(commit)) check('it says that another run made it', run.manifest.run_id, facts.run);
    const digest = orders.get(order);
    if (digest !== undefined) {
      found.count('work orders');
      check('it carries out another text of the order than the workspace holds', digest, facts.digest);
    } else if (orders.size > 0)
      found.add('history', where, `${called}: there is no such order in the workspace`);
    parent = commit;
  }
  if (run.underWay) {
    found.cannot('where the refs of the history stand: the run was stopped in the middle of a stage');
    return;
  }
  for (const [name, is] of [
    ['refs/factory/head', look.refs.head],
    ['refs/heads/factory', look.refs.branch],
  ] as const)
    if (is !== (parent ?? ''))
      found.add('changed', `${where}/${name}`, 'it does not stand at the last commit of the run', {
        should: parent ?? 'no commit',
        is: is === '' ? 'no commit' : is,
      });
}

/** A step of a build that puts its state down. */
const putsState = /(?:^|\s)factory order (?:next|prompt|apply|commit|rollback)\b/;

/** The states that the build says it has put down: a later step believes no other. The last of them is in the snapshot
 *  after the step that did. */
async function checkStates(
  run: { readonly dir: string; readonly records: readonly RunRecord[] },
  found: Findings,
): Promise<void> {
  const at = layout(run.dir);
  const name = `${where}/${basename(inHistory(at.history).states)}`;
  const read = readPlain(inHistory(at.history).states);
  if (read.kind === 'missing') {
    found.cannot(
      `${name}: it is not there, as in runs of an earlier version; such a build believes any state`,
    );
    return;
  }
  const noted = read.kind === 'text' ? read.text.split('\n').slice(0, -1) : [];
  if (read.kind !== 'text' || noted.some((line) => !/^[0-9a-f]{64}$/.test(line))) {
    found.add('changed', name, 'it is no list of hashes');
    return;
  }
  const last = run.records.findLast(
    (record) =>
      record.type === 'Visit' &&
      record.commands?.some(({ argv, exit_code }) => exit_code === 0 && putsState.test(argv.join(' '))) ===
        true,
  );
  if (last?.type !== 'Visit' || last.replayed !== undefined) return;
  const after = await treeOf(at.snapshots, last.after);
  const state = 'tree' in after ? after.tree.get(inWorkspace.orderState)?.hash : undefined;
  if (state !== undefined && !noted.includes(state))
    found.add('changed', name, `it lacks the state that node ${last.node} has put down`, { should: state });
}

/** Commits that the run was forked with, or took from the record that it replays: another run made them. */
function inheritedCommits(manifest: Manifest, records: readonly RunRecord[]): ReadonlySet<string> {
  const until = manifest.forked_from?.seq ?? 1;
  const names = new Set<string>();
  for (const record of records) {
    if (record.type !== 'Visit' || (record.seq > until && record.replayed === undefined)) continue;
    const read = Commit.array().safeParse(record.context.set['build.commits']);
    for (const { commit } of read.success ? read.data : []) if (commit !== null) names.add(commit);
  }
  return names;
}

/** Whether the branch that the commits were delivered to still has them, as its tip. */
export async function checkDelivery(
  checkpoint: Checkpoint,
  to: { readonly repo: string; readonly branch: string },
  env: Environment,
  found: Findings,
): Promise<void> {
  const last = commitsOf(checkpoint).at(-1)?.commit;
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
    found.note(to.repo, `the branch "${to.branch}" has the commits of the run, and others upon them`, {
      should: last,
      is: look.at,
    });
}
