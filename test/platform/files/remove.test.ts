import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fence, Superseded } from '../../../src/platform/files/fence.ts';
import { hasTempSiblings, removeGitLocks, removeTempSiblings } from '../../../src/platform/files/remove.ts';
import { writeFileAtomic } from '../../../src/platform/files/write.ts';
import { home } from '../../support/cli.ts';
import { asHeldByModes } from '../../workspace/folders.ts';

test('what a killed writer left goes, and nothing that only looks alike', async () => {
  await using it = await home();
  const names = [
    '.checkpoint.json.0123456789ab.tmp',
    'checkpoint.json',
    '.hidden.tmp',
    'a.0123456789ab.tmp',
    '.x.0123456789AB.tmp',
  ];
  for (const name of names) writeFileSync(join(it.path, name), '');
  // A run directory may come from another machine: a folder of that name stops no resume.
  mkdirSync(join(it.path, '.manifest.json.0123456789ab.tmp', 'x'), { recursive: true });
  expect(await hasTempSiblings(it.path)).toBe(true);
  await removeTempSiblings(it.path);
  expect(readdirSync(it.path).sort()).toEqual(names.slice(1).sort());
  expect(await hasTempSiblings(it.path)).toBe(false);
});

test('however it is locked', async () => {
  await using it = await home({ '.a.json.0123456789ab.tmp/in/x': '', 'refs/heads/x.lock/in/x': '' });
  for (const name of ['.a.json.0123456789ab.tmp', 'refs/heads/x.lock'])
    chmodSync(join(it.path, name, 'in'), 0o500);
  await asHeldByModes(it.path, async () => {
    await removeTempSiblings(it.path);
    await removeGitLocks(it.path);
  });
  expect(readdirSync(it.path, { recursive: true }).sort()).toEqual(['refs', 'refs/heads']);
});

test('a file that this very process is just replacing is not among them', async () => {
  await using it = await home();
  const path = join(it.path, 'lock.json');
  await writeFileAtomic(path, '{}', { first: () => removeTempSiblings(it.path) });
  expect(readdirSync(it.path)).toEqual(['lock.json']);
});

test('nothing goes any more once another process owns the folder', async () => {
  await using it = await home({ '.lock.json.0123456789ab.tmp': '' });
  const open = fence(it.path, () => {
    throw new Superseded();
  });
  await expect(removeTempSiblings(it.path)).rejects.toThrow(Superseded);
  open();
  expect(await hasTempSiblings(it.path)).toBe(true);
});

test('a folder that is not there has nothing to remove', async () => {
  await using it = await home();
  await removeTempSiblings(join(it.path, 'nope'));
  expect(await hasTempSiblings(join(it.path, 'nope'))).toBe(false);
});

test('locks of a git that was killed go, and nothing else of the repository', async () => {
  await using it = await home({
    'h/HEAD': 'x',
    'h/HEAD.lock': '',
    'h/refs/heads/factory': 'x',
    'h/refs/heads/factory.lock': '',
    'h/objects/a.lock': 'not of git',
  });
  await removeGitLocks(join(it.path, 'h'));
  await removeGitLocks(join(it.path, 'nope'));
  expect(readdirSync(join(it.path, 'h'), { recursive: true }).sort()).toEqual(
    ['HEAD', 'objects', 'objects/a.lock', 'refs', 'refs/heads', 'refs/heads/factory'].sort(),
  );
});

test('a folder in place of a lock goes too', async () => {
  await using it = await home({ 'HEAD.lock/x': '', 'refs/heads/x.lock/y': '', HEAD: '' });
  await removeGitLocks(it.path);
  expect(readdirSync(it.path).sort()).toEqual(['HEAD', 'refs']);
  expect(readdirSync(join(it.path, 'refs/heads'))).toEqual([]);
});
