/** What makers of runs that were killed left in the runs directory. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { buildingName, removeAbandoned } from '../../src/app/run/run-directory.ts';
import { keyFileOf, writeSealed } from '../../src/holdout/vault.ts';
import { home } from '../support/cli.ts';
import { asHeldByModes } from '../workspace/folders.ts';

test('of a maker that has ended it goes, of one at work it stays', async () => {
  await using it = await home();
  const ended = spawn('true');
  await once(ended, 'exit');
  const mine = buildingName('r1', 'x');
  const [here, pid, startTime] = mine.split('.').slice(-4, -1);
  const names = [
    mine,
    `.r1.x.${here}.${ended.pid}.${startTime}.new`,
    // The pid of a process that was started later.
    `.r1.x.${here}.${pid}.00000000.new`,
    'r2',
    '.other.new',
  ];
  for (const name of names) mkdirSync(join(it.path, name, 'workspace'), { recursive: true });
  const env = { FACTORY_KEYS: join(it.path, 'keys') };
  for (const name of names) await writeSealed(join(it.path, name), [], env);
  await removeAbandoned(it.path, 0, env);
  expect(readdirSync(it.path).sort()).toEqual([mine, 'keys', 'r2', '.other.new'].sort());
  // With each its key, and no other one.
  const kept = [mine, 'r2', '.other.new'].map((name) => basename(keyFileOf(join(it.path, name), env) ?? ''));
  expect(readdirSync(join(it.path, 'keys')).sort()).toEqual(kept.sort());
});

test('of a maker that cannot be seen from here it stays for a day', async () => {
  await using it = await home();
  const name = buildingName('r1', 'x').replace(/\.[0-9a-f]{8}\.(\d+)\./, '.00000000.$1.');
  mkdirSync(join(it.path, name));
  const made = statSync(join(it.path, name)).mtimeMs;
  await removeAbandoned(it.path, made + 23 * 3_600_000, {});
  expect(readdirSync(it.path)).toEqual([name]);
  await removeAbandoned(it.path, made + 25 * 3_600_000, {});
  expect(readdirSync(it.path)).toEqual([]);
});

test('it goes also where a folder in it may not be written in', async () => {
  await using it = await home();
  const name = buildingName('r1', 'x').replace(/\.(\d+)\.[0-9a-f]{8}\.new$/, '.$1.00000000.new');
  mkdirSync(join(it.path, name, 'workspace/locked/in'), { recursive: true });
  chmodSync(join(it.path, name, 'workspace/locked'), 0o555);
  await asHeldByModes(it.path, async () => {
    await removeAbandoned(it.path, 0, {});
    expect(readdirSync(it.path)).toEqual([]);
  });
});
