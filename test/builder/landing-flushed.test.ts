import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Landing } from '../../src/builder/landing.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { bareEnv, folder, git, repository } from './support.ts';

test('a landing is on record, with all names that lead there, until the files that it moved are on the disk', async () => {
  using it = folder({ 'repo/.git/factory/landing.json': '{}', 'repo/new/f.txt': 'f' });
  const [repo, note] = [join(it.path, 'repo'), join(it.path, 'repo/.git/factory/landing.json')];
  const begun: Landing = {
    version: 1,
    run_id: 'R',
    run_dir: '',
    digest: '',
    repo,
    branch: 'b',
    existed: false,
    base: '',
    head: '',
    from: { branch: '', commit: '' },
    marker: '',
    began_at: '',
  };
  const { fsync, openSync } = fs;
  const paths = new Map<number, string>();
  const flushed = new Map<string, boolean>();
  fs.openSync = (path, ...rest) => {
    const file = openSync(path, ...rest);
    paths.set(file, String(path));
    return file;
  };
  fs.fsync = Object.assign((file: number, done: fs.NoParamCallback) => {
    flushed.set(paths.get(file) ?? '', fs.existsSync(note));
    fsync(file, done);
  }, fsync);
  syncBuiltinESMExports();
  try {
    // The doors take hold of these functions when they are loaded.
    vi.resetModules();
    const { beginLanding, endLanding } = await import('../../src/builder/landing.ts');
    await beginLanding(join(repo, '.git'), begun);
    expect(flushed.get(join(repo, '.git/factory'))).toBe(true);
    expect(flushed.get(join(repo, '.git'))).toBe(true);
    flushed.clear();
    await endLanding(join(repo, '.git'), [repo]);
  } finally {
    Object.assign(fs, { fsync, openSync });
    syncBuiltinESMExports();
  }
  for (const path of [repo, join(repo, 'new'), join(repo, 'new/f.txt')]) expect(flushed.get(path)).toBe(true);
  expect(fs.existsSync(note)).toBe(false);
  expect(flushed.get(join(repo, '.git/factory'))).toBe(false);
});

test('what names the branch that a repository was switched to is on the disk before anything follows', async () => {
  using it = folder({ 'src/a.txt': 'a\n' });
  const repo = join(it.path, 'src');
  repository(repo);
  const head = git(repo, 'rev-parse', 'HEAD').trim();
  using disk = noteDisk();
  const { land } = await import('../../src/builder/land.ts');
  const landed = await land({
    historyDir: join(it.path, 'none.git'),
    repo,
    branch: 'other',
    existed: false,
    base: head,
    head,
    startingBranch: 'main',
    author: { name: 'a', email: 'a@b.example' },
    marker: 'M=1',
    env: bareEnv(it.path),
  });
  expect(landed).toMatchObject({ switched: true });
  expect(git(repo, 'symbolic-ref', 'HEAD').trim()).toBe('refs/heads/other');
  for (const name of ['index', 'HEAD']) expect(disk.told).toContain(`flushed ${join(repo, '.git', name)}`);
});
