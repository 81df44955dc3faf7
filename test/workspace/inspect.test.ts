/** The store of a run that was resumed often. */
import fs, { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectStore } from '../../src/workspace/inspect.ts';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { tempFolder } from './folders.ts';

/** How many files are open at once, at most, of those that are opened meanwhile. */
async function mostOpenIn(act: () => Promise<unknown>): Promise<number> {
  const { openSync, closeSync } = fs;
  const open = new Set<number>();
  let most = 0;
  fs.openSync = (...args) => {
    const file = openSync(...args);
    most = Math.max(most, open.add(file).size);
    return file;
  };
  fs.closeSync = (file) => {
    open.delete(file);
    closeSync(file);
  };
  syncBuiltinESMExports();
  try {
    await act();
  } finally {
    Object.assign(fs, { openSync, closeSync });
    syncBuiltinESMExports();
  }
  expect([...open]).toEqual([]);
  return most;
}

test('a store with a pack from each of many owners is looked at with few of them open', async () => {
  await using it = tempFolder();
  const ws = join(it.path, 'ws');
  const dir = join(it.path, 'snaps');
  mkdirSync(ws);
  const owners = 40;
  let last = '';
  // Each closes what it has opened.
  const mostOfOwners = await mostOpenIn(async () => {
    for (let owner = 0; owner < owners; owner++) {
      const snapshots = await openSnapshots({ workspace: ws, dir });
      writeFileSync(join(ws, `of-${owner}`), `content of ${owner}`);
      last = (await snapshots.take(last === '' ? undefined : await snapshots.load(last))).id;
    }
  });
  expect(mostOfOwners).toBeLessThan(20);
  expect(readdirSync(dir).filter((name) => name.startsWith('pack')).length).toBe(owners);
  let found: unknown;
  const most = await mostOpenIn(async () => {
    found = await inspectStore(dir);
  });
  expect(found).toMatchObject({ problems: [], contents: owners, waste: 0 });
  expect(most).toBeLessThan(20);
});
