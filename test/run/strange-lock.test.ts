/** Files that a user, or a damaged disk, has put in place of a lock. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { realClock } from '../../src/platform/clock.ts';
import { acquireLock, ownerOf } from '../../src/run/lock.ts';
import { temp } from '../platform/temp.ts';

const options = { clock: realClock };

test.for(['nowhere', '000001.json'])(
  'a link to %s in place of a lock is an unreadable one',
  async (target) => {
    await using it = await temp();
    mkdirSync(it.at('lock'));
    symlinkSync(target, it.at('lock', '000001.json'));
    expect(await acquireLock(it.dir, options)).toMatchObject({
      kind: 'refused',
      why: expect.stringContaining('cannot be read'),
    });
    expect(await ownerOf(it.dir, realClock)).toBe(undefined);
    const answer = await acquireLock(it.dir, { ...options, takeOver: true });
    expect(answer).toMatchObject({ kind: 'acquired', lock: { epoch: 2 } });
    if (answer.kind === 'acquired') await answer.lock.release();
  },
);

test('a file in place of the lock folder is named', async () => {
  await using it = await temp();
  const answer = {
    kind: 'refused',
    why: expect.stringContaining(it.at('lock')),
    fix: expect.stringContaining('move'),
  };
  writeFileSync(it.at('lock'), '');
  expect(await acquireLock(it.dir, options)).toMatchObject(answer);
  rmSync(it.at('lock'));
  symlinkSync('nowhere', it.at('lock'));
  expect(await acquireLock(it.dir, options)).toMatchObject(answer);
});

test('a lock that a damaged disk has emptied still belongs to its owner, who rewrites it', async () => {
  await using it = await temp();
  const ours = await acquireLock(it.dir, options);
  if (ours.kind === 'refused') throw new Error(ours.why);
  const path = it.at('lock', '000001.json');
  writeFileSync(path, '');
  expect(await ours.lock.stillOwner()).toBe(true);
  await ours.lock.release();
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ epoch: 1, released: expect.any(String) });
});
