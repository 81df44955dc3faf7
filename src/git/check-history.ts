/** Inspects a run's history without changing it: damaged objects, refs, and the trailers of commits. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { branchRef, headRef } from '../core/records/layout.ts';
import { type Git, sourceGit } from '../platform/git.ts';
import { assertPlainHistory, ForeignHistory } from './guard.ts';
import { historyGit } from './history.ts';
import { hasCommit } from './repository.ts';

/** Facts of a commit; `run`, `order` and `digest` come from its trailers, empty without them. */
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
      /** Damage reported by `git fsck`, one line each; empty if there is none. */
      readonly damage: readonly string[];
      /** The commits of the run's two refs; empty for a missing one. */
      readonly refs: { readonly head: string; readonly branch: string };
      /** Content of the file HEAD. */
      readonly head: string;
      /** Those of the requested commits that exist. */
      readonly commits: ReadonlyMap<string, CommitFacts>;
    }
  /** `foreign`: the history has settings or files that no run puts there. */
  | { readonly ok: false; readonly why: string; readonly foreign?: true };

/** Inspects the history in `historyDir`. `ok` is false if git is not installed, or must not be called there. */
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
  const output = fsck.ok ? '' : fsck.output || fsck.why;
  const damage = output.split('\n').filter((line) => line.trim() !== '' && !isNoDamage(line));
  const ref = async (name: string) => {
    const found = await git.run(['rev-parse', '--verify', '--quiet', name]);
    return found.ok ? found.text : '';
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

/** Two messages of `git fsck` are no damage: a notice that there is no commit yet, and the missing empty tree, which the
 *  index of a history without commits names and which git never needs as an object. */
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
  const log = await git.run(['log', '-1', '--no-walk', `--format=${format.join('%x00')}`, commit]);
  if (!log.ok) return undefined;
  const [name = '', tree = '', parents = '', subject = '', run = '', order = '', digest = ''] =
    log.text.split('\0');
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

/** The tip of a branch in the user's repository, and whether `commit` is on the branch. */
export async function lookAtBranch(
  repo: string,
  branch: string,
  commit: string,
  env: Environment,
): Promise<{ readonly at: string; readonly has: boolean } | { readonly problem: string }> {
  const git = sourceGit(repo, env);
  const tip = await git.run(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]);
  if (!tip.ok) return { problem: `there is no branch "${branch}" in ${repo}` };
  return { at: tip.text, has: await hasCommit(git, tip.text, commit) };
}
