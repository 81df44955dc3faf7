/** A snapshot's file whose tree is right and whose places are not. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSnapshots } from '../../src/workspace/snapshots.ts';
import { DamagedStore } from '../../src/workspace/trouble.ts';
import { rig } from './rig.ts';

test('a snapshot with wrong places of contents is refused, before another one copies them', async () => {
  await using it = await rig({ a: 'aaaa', b: 'bbbb' });
  const dir = join(it.path, 'snaps');
  const file = join(dir, 'trees', `${it.before.id}.json`);
  const text = readFileSync(file, 'utf8');
  const other = text.replace(/(\["b",\d+,4,"[0-9a-f]{64}",)4,/, '$10,');
  expect(other).not.toBe(text);
  writeFileSync(file, other);
  const reader = await openSnapshots({ workspace: it.ws, dir });
  const error = await reader.load(it.before.id).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(DamagedStore);
  expect(String(error)).toContain(file);
});
