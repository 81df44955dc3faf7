import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeLeftovers } from '../../src/app/run/leftovers.ts';
import { home } from '../support/cli.ts';
import { asHeldByModes } from '../workspace/folders.ts';

const torn = (name: string): string => `.${name}.0123456789ab.tmp`;

test.each([torn('checkpoint.json'), `check/${torn('status.json')}`])(
  'what a killed engine was writing goes: %s',
  async (name) => {
    await using it = await home({ [name]: 'half', 'journal.jsonl': '' });
    await removeLeftovers(it.path);
    expect(existsSync(join(it.path, name))).toBe(false);
    expect(existsSync(join(it.path, 'journal.jsonl'))).toBe(true);
  },
);

// The hiding place has no permissions; a node may have closed its own folder before it was killed with its engine.
test('folders without permissions do not prevent the removal of leftovers, also for a user other than root', async () => {
  await using it = await home({
    '.hidden/0/secret.txt': 's',
    '.scratch/a/tmp/.x.0123456789ab.tmp': 'of a stage',
    'a/.status.json.0123456789ab.tmp': '{',
    'a/stage.json': '{}',
  });
  const [hidden, scratch] = [join(it.path, '.hidden'), join(it.path, '.scratch')];
  for (const path of [hidden, scratch, join(it.path, 'a')]) chmodSync(path, 0);
  await asHeldByModes(it.path, () => removeLeftovers(it.path));
  expect(statSync(hidden).mode & 0o777).toBe(0);
  for (const path of [hidden, scratch]) chmodSync(path, 0o700);
  expect(await it.list('a')).toEqual(['stage.json']);
  expect(await it.read('.hidden/0/secret.txt')).toBe('s');
  expect(await it.read('.scratch/a/tmp/.x.0123456789ab.tmp')).toBe('of a stage');
});

test('a file of the workspace stays, whatever it is called', async () => {
  await using it = await home({ [`workspace/${torn('mine')}`]: 'of the product', 'journal.jsonl': '' });
  await removeLeftovers(it.path);
  expect(await it.read(`workspace/${torn('mine')}`)).toBe('of the product');
});
