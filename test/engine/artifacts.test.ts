/** Lists of paths in a node's folder. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keepJson, keepLists } from '../../src/engine/artifacts.ts';
import { tempFolder } from '../workspace/folders.ts';

test('lists that are written in pieces are the text that they are as a whole', async () => {
  await using it = tempFolder();
  const long = Array.from({ length: 3000 }, (_, n) => `ü"\\\udcff\n/${'x'.repeat(400)}${n}`);
  const cases = [
    { created: [], modified: [], deleted: [] },
    { created: long, modified: [], deleted: ['one'] },
    { created: [], modified: long.slice(1), deleted: long },
  ];
  for (const [n, lists] of cases.entries()) {
    const [whole, pieces] = [join(it.path, `whole${n}.json`), join(it.path, `pieces${n}.json`)];
    await keepJson(whole, lists);
    await keepLists(pieces, lists);
    expect(readFileSync(pieces).equals(readFileSync(whole))).toBe(true);
  }
});
