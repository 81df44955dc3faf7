/** What of a product is mutated in a run, where the workspace has no repository: git compares the workspace with the tree with which
 *  the run began, in a repository made for it. */
import { existsSync, lstatSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../core/contracts/process.ts';
import { type Git, keepToLineEnds, makeRepository, ownGit } from '../../platform/git.ts';
import { type StrengthSubject, subjectInGit } from './subject.ts';

/** The lines that the run has changed in files that git does not ignore, and in those that its commits have all the same. `base`: what the
 *  run had in place of `app` when it began. `committed`: slash paths below `app`. `scratch`: an existing folder. Rejects with a `GitError` where git is missing or fails. */
export async function subjectInRun(
  app: string,
  {
    base,
    committed = [],
    scratch,
    env,
  }: {
    readonly base: string;
    readonly committed?: readonly string[];
    readonly scratch: string;
    readonly env: Environment;
  },
): Promise<StrengthSubject> {
  const gitDir = join(scratch, 'repository.git');
  const settingsFile = join(scratch, 'settings');
  await mkdir(gitDir);
  await makeRepository(gitDir, { settingsFile, bare: true, branch: 'run', env });
  await keepToLineEnds(gitDir);
  const gitOf = (workTree: string, indexFile: string) =>
    ownGit({ cwd: workTree, gitDir, workTree, indexFile: join(scratch, indexFile), settingsFile, env });
  const none = join(scratch, 'none');
  await mkdir(none);
  const began = existsSync(base) ? base : none;
  const before = gitOf(began, 'before');
  await addAll(before, began, committed);
  const tree = await before.text(['write-tree']);
  const now = gitOf(app, 'now');
  await addAll(now, app, committed);
  const subject = await subjectInGit(app, now, { base: tree, isSought: () => true });
  // The commits are not there; `factory scenario survivors` looks the orders up.
  return { ...subject, orderOf: async () => null };
}

/** Whatever `.gitignore` says of what is committed: a builder may write it. */
async function addAll(git: Git, folder: string, committed: readonly string[]): Promise<void> {
  await git.text(['add', '--all']);
  const files = committed.filter(
    (path) => lstatSync(join(folder, path), { throwIfNoEntry: false })?.isFile() === true,
  );
  const input = files.map((path) => `${path}\0`).join('');
  if (files.length > 0) await git.text(['update-index', '-z', '--add', '--replace', '--stdin'], { input });
}
