import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { withoutSync } from '../support/without-sync.ts';
import { bareEnv, folder, repository } from './support.ts';

test('the record of a landing is flushed, and removed only when the moved files are flushed', async () => {
  using _sync = withoutSync();
  using it = folder({ 'repo/new/f.txt': 'f' });
  const [repo, note] = [join(it.path, 'repo'), join(it.path, 'repo/.git/factory/landing.json')];
  repository(repo);
  const began_at = new Date().toISOString();
  const begun = { run_id: 'R', run_dir: '', digest: '', repo, branch: 'b', base: '', head: '', began_at };
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
    const { beginLanding, endLanding } = await import('../../src/git/landing.ts');
    await beginLanding(join(repo, '.git'), begun, bareEnv(it.path));
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
