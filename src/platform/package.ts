/** The folder of this program: its files are found from this module's path, never from how it was started. */
import { existsSync, readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../core/contracts/process.ts';
import { sourceGit } from './git.ts';

/** The folder that holds `package.json`, `pipelines/`, `prompts/` and `examples/` of this package. */
export function packageRoot(): string {
  for (let at = dirname(fileURLToPath(import.meta.url)); ; at = dirname(at)) {
    // The build folder has a separate `package.json`.
    if (existsSync(join(at, 'pipelines')) && existsSync(join(at, 'package.json'))) return at;
    if (at === dirname(at)) throw new Error('Internal: this module lies in no package of ours');
  }
}

export function packageVersion(): string {
  const read: unknown = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
  return typeof read === 'object' && read !== null && 'version' in read ? String(read.version) : 'unknown';
}

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
