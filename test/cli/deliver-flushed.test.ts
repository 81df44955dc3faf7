import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folder } from '../builder/support.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { withoutSync } from '../support/without-sync.ts';

test('a delivery is flushed before it appears, and the settings of its run stay unchanged', async () => {
  using it = folder();
  using _sync = withoutSync();
  using disk = noteDisk();
  const { run } = await import('./delivered-run.ts');
  const r = await run(it.path);
  disk.told.length = 0;
  expect(await r.asked({ to: join(it.path, 'deep/er/out') })).toBe(0);
  const told = disk.told.map((one) => one.replace(/\.out\.factory-[^/]*\/repository/, 'NEW'));
  const named = told.indexOf(`flushed ${join(it.path, 'deep/er')}`);
  for (const name of ['f1.txt', 'sub/run.sh', '.git/index', '.git/HEAD', '.git', ''])
    expect(told.slice(0, named)).toContain(`flushed ${join(it.path, 'deep/er/NEW', name)}`);
  expect(named).toBeGreaterThan(0);
  expect(disk.told.join('\n')).not.toContain('factory.gitconfig');
});
