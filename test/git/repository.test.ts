/** The repository of a work order, and the orders that its commits carried out. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { branchUse, inspect } from '../../src/git/repository.ts';
import { appliedOrders } from '../../src/git/start-history.ts';
import { sourceGit } from '../../src/platform/git.ts';
import { bareEnv, folder, git, put, repository } from '../builder/support.ts';

test('a repository whose path has a line end is usable, and so is a working tree of it', async () => {
  using it = folder();
  const repo = join(it.path, 'a\nb\n');
  mkdirSync(repo);
  const head = repository(repo);
  const env = bareEnv(it.path);
  const gitDir = join(repo, '.git');
  expect(await inspect(repo, env)).toEqual({ top: repo, gitDir, head, branch: 'main' });
  const other = join(it.path, 'c\n\nd');
  git(repo, 'worktree', 'add', '-q', '-b', 'side', other);
  expect(await inspect(other, env)).toEqual({ top: other, gitDir, head, branch: 'side' });
});

test('a tree with untracked files is not clean, whatever git is set to show', async () => {
  using it = folder();
  repository(it.path);
  git(it.path, 'config', 'status.showUntrackedFiles', 'no');
  put(it.path, { 'new/file': '' });
  const found = await inspect(it.path, bareEnv(it.path));
  expect(found).toMatchObject({ problem: `${it.path} is not clean: new/` });
});

test('committed orders are read from the commits, signed or not, whatever the settings of git log', async () => {
  using it = folder();
  repository(it.path);
  const signer = join(it.path, 'signer');
  const says =
    'case "$*" in *--verify*) echo "[GNUPG:] NEWSIG"; echo "[GNUPG:] GOODSIG 1234567890ABCDEF Ada"; echo "[GNUPG:] VALIDSIG 1 2 3"; echo Good >&2;;';
  const signs = `*) cat > /dev/null; echo "[GNUPG:] SIG_CREATED D 1 8 00 1 1" >&2; echo '-----BEGIN PGP SIGNATURE-----';; esac`;
  writeFileSync(signer, `#!/bin/sh\n${says} ${signs}\n`);
  chmodSync(signer, 0o755);
  git(it.path, 'config', 'gpg.program', signer);
  git(it.path, 'config', 'log.showSignature', 'true');
  git(it.path, 'config', 'trailer.separators', '#');
  const digest = 'd'.repeat(64);
  git(it.path, 'commit', '-q', '-S', '--allow-empty', '-m', `x\n\nWork-Order-Digest: ${digest}`);
  expect(git(it.path, 'log', '-1', '--format=%H')).toContain('Good');
  const head = git(it.path, 'rev-parse', 'HEAD');
  expect(await appliedOrders(it.path, head, bareEnv(it.path))).toEqual({ [digest]: head });
});

test.for([
  ['a submodule', ['-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', '../of', 'repo']],
  ['a clone with its records elsewhere', ['clone', '-q', '--separate-git-dir=records', '../of', 'repo']],
] as const)('the current branch of %s can be moved there', async ([, how]) => {
  using it = folder({ 'of/x': '0' });
  repository(join(it.path, 'of'));
  const above = join(it.path, 'above');
  mkdirSync(above);
  repository(above);
  git(above, ...how);
  const repo = join(above, 'repo');
  const source = sourceGit(repo, bareEnv(it.path));
  const own = { mayBeCurrent: true };
  expect(await branchUse(source, 'main', own)).toBeUndefined();
  expect(await branchUse(source, 'main', { mayBeCurrent: false })).toContain('is checked out');
  const other = join(it.path, 'other');
  git(repo, 'worktree', 'add', '-q', '-b', 'side', other);
  expect(await branchUse(source, 'side', own)).toContain('is checked out');
  expect(await branchUse(sourceGit(other, bareEnv(it.path)), 'main', own)).toContain('is checked out');
});

test("git's own directory is refused as a repository", async () => {
  using it = folder();
  repository(it.path);
  const gitDir = join(it.path, '.git');
  expect(await inspect(gitDir, bareEnv(it.path))).toMatchObject({
    problem: `${gitDir} is not a working tree: it is the folder of a git repository`,
    fix: expect.stringContaining('git clone'),
  });
});
