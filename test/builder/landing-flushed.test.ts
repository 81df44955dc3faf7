import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { folder } from './support.ts';

test('a landing is on record until the files that it moved are on the disk', async () => {
  using it = folder({ 'repo/.git/factory/landing.json': '{}', 'repo/new/f.txt': 'f' });
  const [repo, note] = [join(it.path, 'repo'), join(it.path, 'repo/.git/factory/landing.json')];
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
    const { endLanding } = await import('../../src/builder/landing.ts');
    await endLanding(join(repo, '.git'), [repo]);
  } finally {
    Object.assign(fs, { fsync, openSync });
    syncBuiltinESMExports();
  }
  for (const path of [repo, join(repo, 'new'), join(repo, 'new/f.txt')]) expect(flushed.get(path)).toBe(true);
  expect(fs.existsSync(note)).toBe(false);
});
