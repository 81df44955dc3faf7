/** The commit that this program is of. Apart from its folder, which the start of the command line asks for and nothing else. */
import { realpath } from 'node:fs/promises';
import type { Environment } from '../core/contracts/process.ts';
import { sourceGit } from './git.ts';
import { packageRoot } from './package.ts';

/** The commit of this program, where it runs from its repository. */
export type OwnCommit = { readonly git_commit: string | null; readonly git_dirty: boolean | null };

/** Both are null for an installed package, and without git. */
export async function ownCommit(env: Environment): Promise<OwnCommit> {
  const root = packageRoot();
  const git = sourceGit(root, env);
  const none = { git_commit: null, git_dirty: null };
  const top = await git.run(['rev-parse', '--show-toplevel', 'HEAD']);
  const [folder, commit] = top.ok ? top.text.split('\n') : [];
  // A package in a user's node_modules belongs to the user's repository.
  if (folder === undefined || commit === undefined || folder !== (await realpath(root))) return none;
  const status = await git.run(['status', '--porcelain']);
  return { git_commit: commit.slice(0, 12), git_dirty: status.ok ? status.text.trim() !== '' : null };
}
