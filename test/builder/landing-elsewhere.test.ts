/** A cut landing in repositories that are not everyday's: names that are no UTF-8, a sparse checkout, a git at work. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Landing, markedBy, mendLanding } from '../../src/builder/landing.ts';
import { realClock } from '../../src/system/clock.ts';
import { hasProc } from '../../src/system/proc.ts';
import { bareEnv, type Files, folder, git, put, repository, tree } from './support.ts';

/** `main` is in use; `mine` differs from it by what `other` does, and the landing brings `a.txt` there. */
function landing(root: string, files: Files, other: (repo: string) => void) {
  const repo = join(root, 'repo');
  mkdirSync(repo);
  put(repo, { 'a.txt': 'a\n', ...files });
  const from = { branch: 'main', commit: repository(repo) };
  const commit = () => {
    git(repo, 'add', '-A');
    git(repo, 'commit', '-q', '--allow-empty', '-m', 'x');
    return git(repo, 'rev-parse', 'HEAD');
  };
  git(repo, 'switch', '-q', '-c', 'mine');
  other(repo);
  const base = commit();
  put(repo, { 'a.txt': 'new a\n' });
  const head = commit();
  git(repo, 'switch', '-q', 'main');
  const it: Landing = {
    ...{ version: 1, run_id: 'R', run_dir: join(root, 'run'), digest: 'd', repo, branch: 'mine' },
    ...{ base, head, existed: true, from },
    ...{ marker: 'FACTORY_RUN_MARKER=test-elsewhere', began_at: '2020-01-01T00:00:00.000Z' },
  };
  const doors = { env: bareEnv(root), clock: { ...realClock, sleep: async () => {} } };
  return { ...it, mend: () => mendLanding(it, join(repo, '.git'), doors) };
}

test('a landing that brings names and links that are no UTF-8 is finished', async () => {
  using at = folder();
  const latin = (text: string) => Buffer.from(text, 'latin1');
  const it = landing(at.path, {}, (repo) => {
    writeFileSync(latin(`${repo}/caf\xe9`), 'coffee\n');
    writeFileSync(latin(`${repo}/th\xe9`), 'tea\n');
    symlinkSync(latin('caf\xe9'), join(repo, 'link'));
  });
  // Cut amid the files: one is whole, one in part, one not there.
  put(it.repo, { 'a.txt': 'new' });
  writeFileSync(latin(`${it.repo}/caf\xe9`), 'cof');
  symlinkSync(latin('caf\xe9'), join(it.repo, 'link'));
  expect(await it.mend()).toBe('landed');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(git(it.repo, 'branch', '--show-current')).toBe('mine');
  const names = readdirSync(it.repo, { encoding: 'latin1' }).sort();
  expect(names).toEqual(['.git', 'a.txt', 'caf\xe9', 'link', 'th\xe9']);
});

test('a landing on a sparse checkout is finished, whatever changed outside of it', async () => {
  using at = folder();
  const it = landing(at.path, { 'in/a': 'a\n', 'out/b': 'b\n', 'out/gone': 'g\n' }, (repo) => {
    put(repo, { 'in/a': 'a2\n', 'out/b': 'b2\n', 'out/c': 'c\n' });
    rmSync(join(repo, 'out/gone'));
  });
  git(it.repo, 'sparse-checkout', 'set', 'in');
  put(it.repo, { 'in/a': 'a2' });
  expect(await it.mend()).toBe('landed');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(git(it.repo, 'branch', '--show-current')).toBe('mine');
  expect(tree(it.repo)).toMatchObject({ 'a.txt': 'new a\n', 'in/a': 'a2\n' });
  expect(tree(it.repo)).not.toHaveProperty('out/gone');
});

test('names that git would take for patterns are names', async () => {
  using at = folder();
  const it = landing(at.path, { ':x': 'x\n', 'a*.txt': 'star\n', 'ab.txt': 'kept\n' }, (repo) =>
    [':x', 'a*.txt'].forEach((name) => {
      rmSync(join(repo, name));
    }),
  );
  put(it.repo, { 'a.txt': 'new' });
  expect(await it.mend()).toBe('landed');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(tree(it.repo)).toEqual({ 'a.txt': 'new a\n', 'ab.txt': 'kept\n' });

  // And where the branch in use is moved, work on other files is kept.
  put(it.repo, { ':y': 'y\n', '*.txt': 'star\n' });
  git(it.repo, 'add', '-A');
  git(it.repo, 'commit', '-q', '-m', 'x');
  const head = git(it.repo, 'rev-parse', 'HEAD');
  git(it.repo, 'reset', '-q', '--hard', it.head);
  put(it.repo, { '*.txt': 'st', 'ab.txt': 'by hand\n' });
  const from = { branch: 'mine', commit: it.head };
  const doors = { env: bareEnv(at.path), clock: { ...realClock, sleep: async () => {} } };
  const again = { ...it, base: it.head, head, from };
  expect(await mendLanding(again, join(it.repo, '.git'), doors)).toBe('landed');
  expect(tree(it.repo)).toMatchObject({ '*.txt': 'star\n', 'ab.txt': 'by hand\n' });
});

test.runIf(hasProc)('what the dead landing has left running is ended', async () => {
  using at = folder();
  const it = landing(at.path, {}, () => {});
  const marker = `FACTORY_RUN_MARKER=test-${process.pid}-left`;
  const left = spawn('sleep', ['60'], { env: { ...bareEnv(at.path), ...markedBy(marker) }, stdio: 'ignore' });
  const ended = once(left, 'exit');
  await once(left, 'spawn');
  const doors = { env: bareEnv(at.path), clock: realClock };
  expect(await mendLanding({ ...it, marker }, join(it.repo, '.git'), doors)).toBe('landed');
  const [code, signal] = await Promise.race([ended, realClock.sleep(5000).then(() => ['running'])]);
  left.kill('SIGKILL');
  expect(code).toBeNull();
  expect(signal).not.toBeNull();
});

test.runIf(hasProc)('the lock of a commit whose message is being written stays', async () => {
  using at = folder();
  const it = landing(at.path, { 'keep.txt': 'k\n' }, () => {});
  put(it.repo, { 'keep.txt': 'by hand\n' });
  const [asked, answered] = [join(at.path, 'asked'), join(at.path, 'answered')];
  execFileSync('mkfifo', [asked, answered]);
  const editor = join(at.path, 'editor');
  const steps = `echo message > "$1"; echo > '${asked}'; read line < '${answered}'`;
  writeFileSync(editor, `#!/bin/sh\n${steps}\n`, { mode: 0o755 });
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test'];
  const commit = spawn('git', [...identity, 'commit', '-q', '-a'], {
    cwd: it.repo,
    env: { ...bareEnv(at.path), GIT_EDITOR: editor },
    stdio: 'ignore',
  });
  const ended = once(commit, 'exit');
  await readFile(asked);
  const lock = join(it.repo, '.git/index.lock');
  expect(existsSync(lock)).toBe(true);
  expect(await it.mend()).toEqual({
    problem: expect.stringContaining(`${lock} may be the lock of the git that is at work there`),
    fix: 'let that git end, then do it again',
  });
  expect(existsSync(lock)).toBe(true);
  await writeFile(answered, '\n');
  expect(await ended).toEqual([0, null]);
  expect(git(it.repo, 'log', '-1', '--format=%s')).toBe('message');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(await it.mend()).toBe('before');
});

const [asFile, asFolder]: [Files, Files] = [{ x: 'x\n' }, { 'x/y': 'y\n' }];
test.for([
  ['a file', asFile, 'a folder', asFolder, 'nothing has changed yet'],
  ['a file', asFile, 'a folder', asFolder, 'the old one is gone'],
  ['a file', asFile, 'a folder', asFolder, 'the new one is there'],
  ['a folder', asFolder, 'a file', asFile, 'nothing has changed yet'],
  ['a folder', asFolder, 'a file', asFile, 'the old one is gone'],
  ['a folder', asFolder, 'a file', asFile, 'the new one is there'],
] as const)('a landing that makes of $0 $2 of its name is finished where $4', async (row) => {
  const [, before, , after, cut] = row;
  using at = folder();
  const it = landing(at.path, before, (repo) => {
    rmSync(join(repo, 'x'), { recursive: true });
    put(repo, after);
  });
  put(it.repo, { 'a.txt': 'new' });
  if (!cut.startsWith('nothing')) rmSync(join(it.repo, 'x'), { recursive: true });
  if (cut.startsWith('the new')) put(it.repo, after);
  expect(await it.mend()).toBe('landed');
  expect(git(it.repo, 'status', '--porcelain')).toBe('');
  expect(tree(it.repo)).toEqual({ 'a.txt': 'new a\n', ...after });
});

test('a folder with a file that no commit has does not make way for a file of its name', async () => {
  using at = folder();
  const it = landing(at.path, { ...asFolder, '.gitignore': '*.log\n' }, (repo) => {
    rmSync(join(repo, 'x'), { recursive: true });
    put(repo, asFile);
  });
  put(it.repo, { 'a.txt': 'new', 'x/z.log': 'ignored\n' });
  expect(await it.mend()).toMatchObject({ problem: expect.stringContaining('x changed since') });
  expect(tree(it.repo)).toMatchObject({ 'x/z.log': 'ignored\n', 'x/y': 'y\n' });
});
