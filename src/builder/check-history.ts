/** A run's history looked at without changing it: whole objects, refs where they belong, commits that say whose they are. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Environment, type Git, sourceGit } from '../system/git.ts';
import { assertPlainHistory, ForeignHistory } from './history-guard.ts';
import { branchRef, headRef, historyGit } from './in-history.ts';

/** A commit as git has it; digests and runs as its trailers say. */
export type CommitFacts = {
  readonly commit: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly subject: string;
  readonly run: string;
  readonly order: string;
  readonly digest: string;
};

export type HistoryLook =
  | {
      readonly ok: true;
      /** What `git fsck` complains of, a line each; empty where all is whole. */
      readonly damage: readonly string[];
      /** Where the run's two refs stand; empty for one that is not there. */
      readonly refs: { readonly head: string; readonly branch: string };
      /** The file HEAD. */
      readonly head: string;
      /** Of the commits that were asked for, those that are there. */
      readonly commits: ReadonlyMap<string, CommitFacts>;
    }
  /** `foreign`: there is more in it than a run puts there. */
  | { readonly ok: false; readonly why: string; readonly foreign?: true };

/** Looks at the history in `historyDir`. `ok` is false where git is not at hand. */
export async function lookAtHistory(
  historyDir: string,
  commits: readonly string[],
  env: Environment,
): Promise<HistoryLook> {
  const git = historyGit(historyDir, env);
  try {
    assertPlainHistory(historyDir);
  } catch (error) {
    if (!(error instanceof ForeignHistory)) throw error;
    return { ok: false, why: error.message, foreign: true };
  }
  const fsck = await git.run(['fsck', '--full', '--strict', '--no-dangling', '--no-progress']);
  if (!fsck.ok && fsck.missing) return { ok: false, why: fsck.why };
  const said = fsck.ok ? '' : fsck.said || fsck.why;
  const damage = said.split('\n').filter((line) => line.trim() !== '' && !isNoDamage(line));
  const ref = async (name: string) => {
    const told = await git.run(['rev-parse', '--verify', '--quiet', name]);
    return told.ok ? told.text : '';
  };
  const found = new Map<string, CommitFacts>();
  for (const commit of commits) {
    const facts = await factsOf(git, commit);
    if (facts !== undefined) found.set(commit, facts);
  }
  return {
    ok: true,
    damage,
    refs: { head: await ref(headRef), branch: await ref(branchRef) },
    head: await readFile(join(historyDir, 'HEAD'), 'utf8').catch(() => ''),
    commits: found,
  };
}

/** Git notices that no commit has been made yet; and it misses the empty tree, of which the index of a history without
 *  commits tells, and which it knows wherever it is not kept. */
const isNoDamage = (line: string): boolean =>
  /^notice: |^missing tree (?:4b825dc642cb6eb9a060e54bf8d69288fbee4904|6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321)$/.test(
    line,
  );

async function factsOf(git: Git, commit: string): Promise<CommitFacts | undefined> {
  if (!/^[0-9a-f]{40,64}$/.test(commit)) return undefined;
  const trailer = (key: string) => `%(trailers:key=${key},valueonly,separator=%x2C)`;
  const format = [
    '%H',
    '%T',
    '%P',
    '%s',
    trailer('Factory-Run'),
    trailer('Work-Order'),
    trailer('Work-Order-Digest'),
  ];
  const told = await git.run(['log', '-1', '--no-walk', `--format=${format.join('%x00')}`, commit]);
  if (!told.ok) return undefined;
  const [name = '', tree = '', parents = '', subject = '', run = '', order = '', digest = ''] =
    told.text.split('\0');
  return {
    commit: name,
    tree,
    parents: parents.split(' ').filter((one) => one !== ''),
    subject,
    run: run.trim(),
    order: order.trim(),
    digest: digest.trim(),
  };
}

/** Where a branch of somebody's repository stands, and whether `commit` is on it. */
export async function lookAtBranch(
  repo: string,
  branch: string,
  commit: string,
  env: Environment,
): Promise<{ readonly at: string; readonly has: boolean } | { readonly problem: string }> {
  const git = sourceGit(repo, env);
  const told = await git.run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]);
  if (!told.ok) return { problem: `there is no branch "${branch}" in ${repo}` };
  return { at: told.text, has: (await git.run(['merge-base', '--is-ancestor', commit, told.text])).ok };
}
