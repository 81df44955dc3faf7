import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { folder } from '../builder/support.ts';

test('what is delivered outlives a power cut, and so does the run that it came from', async () => {
  using it = folder();
  const { fsync, fdatasync, openSync } = fs;
  const paths = new Map<number, string>();
  const flushed: string[] = [];
  fs.openSync = (path, ...rest) => {
    const file = openSync(path, ...rest);
    paths.set(file, String(path));
    return file;
  };
  const noting = (real: typeof fsync) =>
    Object.assign((file: number, done: fs.NoParamCallback) => {
      flushed.push(paths.get(file) ?? '');
      real(file, done);
    }, real);
  fs.fsync = noting(fsync);
  fs.fdatasync = noting(fdatasync);
  syncBuiltinESMExports();
  try {
    // The doors take hold of these functions when they are loaded.
    vi.resetModules();
    const { run } = await import('./delivered-run.ts');
    const r = await run(it.path);
    flushed.length = 0;
    expect(await r.asked({ to: join(it.path, 'deep/er/out') })).toBe(0);
  } finally {
    Object.assign(fs, { fsync, fdatasync, openSync });
    syncBuiltinESMExports();
  }
  for (const name of ['deep/er', 'deep', '']) expect(flushed).toContain(join(it.path, name));
  expect(flushed.join('\n')).toMatch(/history\.git\/\.factory\.gitconfig\.[0-9a-f]+\.tmp/);
});
