/** The repository that a work order is for, and what its commits say was carried out. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { branchTaken } from '../../src/builder/deliver.ts';
import { appliedOrders } from '../../src/builder/history.ts';
import { chooseBranch, inspect } from '../../src/builder/repository.ts';
import { sourceGit } from '../../src/system/git.ts';
import { bareEnv, folder, git, put, repository } from './support.ts';

test('a repository whose path holds a line end is like any other, and so is a working tree of it', async () => {
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

test('a file that git is told not to show is there all the same: the tree is not clean', async () => {
  using it = folder();
  repository(it.path);
  git(it.path, 'config', 'status.showUntrackedFiles', 'no');
  put(it.path, { 'new/file': '' });
  const found = await inspect(it.path, bareEnv(it.path));
  expect(found).toMatchObject({ problem: `${it.path} is not clean: new/` });
});

test('which orders were carried out is read from the commits, signed or not, and whatever the user wants to see', async () => {
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
  ['rebased', ['-c', 'sequence.editor=sed -i.bak 1s/pick/edit/', 'rebase', '-q', '-i', 'HEAD~2']],
  ['bisected', ['bisect', 'start', 'HEAD', 'HEAD~2']],
] as const)('a branch that is being %s in some working tree is not to be moved', async ([, how]) => {
  using it = folder({ 'repo/x': '0' });
  const repo = join(it.path, 'repo');
  repository(repo);
  const other = join(it.path, 'other');
  git(repo, 'worktree', 'add', '-q', '-b', 'side', other);
  for (const text of ['1', '2']) {
    put(other, { x: text });
    git(other, 'commit', '-q', '-a', '-m', text);
  }
  const source = sourceGit(repo, bareEnv(it.path));
  git(other, ...how);
  expect(await branchTaken(source, repo, 'side', true)).toMatch(
    /^the branch "side" is being rebased or bisected in a working tree of .*other$/,
  );
  expect(await branchTaken(source, repo, 'sid', true)).toBeUndefined();
});

test('a branch whose patches are put onto another one is not to be moved', async () => {
  using it = folder({ 'repo/x': '0' });
  const repo = join(it.path, 'repo');
  repository(repo);
  for (const [branch, text] of [
    ['side', '1'],
    ['clash', '2'],
  ] as const) {
    git(repo, 'switch', '-q', '-c', branch, 'main');
    put(repo, { x: text });
    git(repo, 'commit', '-q', '-a', '-m', text);
  }
  expect(() => git(repo, 'rebase', '-q', '--apply', 'clash', 'side')).toThrow();
  const source = sourceGit(repo, bareEnv(it.path));
  expect(await branchTaken(source, repo, 'side', true)).toContain('is being rebased or bisected');
});

test('a branch that a rebase is to take along is not to be moved', async () => {
  using it = folder({ x: '0' });
  repository(it.path);
  for (const name of ['low', 'high']) {
    git(it.path, 'switch', '-q', '-c', name);
    git(it.path, 'commit', '-q', '--allow-empty', '-m', name);
  }
  const stops = ['-c', 'sequence.editor=sed -i.bak 1s/pick/edit/'];
  git(it.path, ...stops, 'rebase', '-q', '-i', '--keep-empty', '--update-refs', 'main');
  const source = sourceGit(it.path, bareEnv(it.path));
  expect(await branchTaken(source, it.path, 'low')).toContain('is being rebased or bisected');
});

test.for([
  ['a submodule', ['-c', 'protocol.file.allow=always', 'submodule', '-q', 'add', '../of', 'repo']],
  ['a clone with its records elsewhere', ['clone', '-q', '--separate-git-dir=records', '../of', 'repo']],
] as const)('the branch that %s stands on is its own', async ([, how]) => {
  using it = folder({ 'of/x': '0' });
  repository(join(it.path, 'of'));
  const above = join(it.path, 'above');
  mkdirSync(above);
  repository(above);
  git(above, ...how);
  const repo = join(above, 'repo');
  const source = sourceGit(repo, bareEnv(it.path));
  expect(await branchTaken(source, repo, 'main', true)).toBeUndefined();
  expect(await branchTaken(source, repo, 'main')).toContain('is checked out');
  const other = join(it.path, 'other');
  git(repo, 'worktree', 'add', '-q', '-b', 'side', other);
  expect(await branchTaken(source, repo, 'side', true)).toContain('is checked out');
  expect(await branchTaken(sourceGit(other, bareEnv(it.path)), other, 'main', true)).toContain(
    'is checked out',
  );
});

test.for([
  ['a merge', 'MERGE_HEAD'],
  ['a cherry-pick', 'CHERRY_PICK_HEAD'],
  ['a revert', 'REVERT_HEAD'],
  ['a rebase or a series of patches', 'rebase-apply'],
] as const)(
  'the branch that a clean tree is on is not built upon amid %s, and another one is',
  async ([what, name]) => {
    using it = folder();
    const head = repository(it.path);
    git(it.path, 'switch', '-q', '-c', 'work');
    const place = join(it.path, '.git', name);
    if (name === 'rebase-apply') mkdirSync(place);
    else writeFileSync(place, `${head}\n`);
    const env = bareEnv(it.path);
    const there = await inspect(it.path, env);
    if ('problem' in there) throw new Error(there.problem);
    const asked = { reuse: false, create: false, commit: undefined, plannerRun: undefined, runId: 'R' };
    expect(await chooseBranch(there, { ...asked, name: 'work' }, env)).toMatchObject({
      problem: `${it.path} is amid ${what} on "work"`,
      fix: expect.stringContaining('git status'),
    });
    expect(await chooseBranch(there, { ...asked, name: 'other' }, env)).toMatchObject({ branch: 'other' });
  },
);

test("git's own folder is in no working tree, and another is to be named", async () => {
  using it = folder();
  repository(it.path);
  const gitDir = join(it.path, '.git');
  expect(await inspect(gitDir, bareEnv(it.path))).toMatchObject({
    problem: `${gitDir} has no files of a project: git keeps a repository in it`,
    fix: expect.stringContaining('git clone'),
  });
});
