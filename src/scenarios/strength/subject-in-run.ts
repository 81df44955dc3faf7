/** What of a product is mutated in a run, where the workspace has no repository: git compares the workspace with the tree with which
 *  the run began, in a repository made for it. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Environment } from '../../core/contracts/process.ts';
import { keepToLineEnds, makeRepository, ownGit } from '../../platform/git.ts';
import { type StrengthSubject, subjectInGit } from './subject.ts';

/** The lines that the run has changed in files that git does not ignore. `base`: what the run had in place of `app` when it began. `scratch`: an existing
 *  folder. Rejects with a `GitError` where git is missing or fails. */
export async function subjectInRun(
  app: string,
  { base, scratch, env }: { readonly base: string; readonly scratch: string; readonly env: Environment },
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
  const before = gitOf(existsSync(base) ? base : none, 'before');
  await before.text(['add', '--all']);
  const tree = await before.text(['write-tree']);
  const now = gitOf(app, 'now');
  await now.text(['add', '--all']);
  const subject = await subjectInGit(app, now, { base: tree, isSought: () => true });
  // The commits are not there; `factory scenario survivors` looks the orders up.
  return { ...subject, orderOf: async () => null };
}
