/** An owner that was stopped in the middle of things, and continues when another process owns the run. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { beforeWrite, fence, mayWrite, Superseded, signOf } from '../../src/platform/files/fence.ts';
import { removeAside } from '../../src/platform/files/remove.ts';
import {
  makeFolder,
  overwriteJson,
  removeNow,
  writeFileAtomic,
  writeFresh,
  writeNewFile,
} from '../../src/platform/files/write.ts';
import { realSpawn } from '../../src/platform/process/spawn.ts';
import { sweep } from '../../src/platform/process/sweep.ts';
import { temp } from './temp.ts';

const linux = process.platform === 'linux';
const refuse = (): never => {
  throw new Superseded();
};

test.runIf(linux)('a program that it was just starting is ended at once', async () => {
  await using it = await temp();
  const mine = `/proc/self/task/${process.pid}/children`;
  const before = readFileSync(mine, 'utf8');
  const open = fence(it.dir, () => {
    if (readFileSync(mine, 'utf8') !== before) throw new Superseded();
  });
  const ended = await realSpawn.run({
    argv: ['sleep', '1000'],
    cwd: it.dir,
    env: { PATH: process.env['PATH'] ?? '' },
    stdoutFile: it.at('out'),
    stderrFile: it.at('err'),
    timeoutMs: 5000,
  });
  open();
  expect(ended).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
});

test('a removed run is not recreated by its owner', async () => {
  await using it = await temp();
  const open = fence(it.at('run'), () => {}, it.at('run', 'lock', '000002.json'));
  await expect(writeFileAtomic(it.at('run', 'a', 'status.json'), '')).rejects.toThrow(/run was removed/);
  expect(() => makeFolder(it.at('run', 'contents', 'trees'))).toThrow(/run was removed/);
  open();
  expect(existsSync(it.at('run'))).toBe(false);
});

test('what comes between the question and the removal of nothing is not removed', async () => {
  await using it = await temp();
  // Stopped right behind the question, it wakes when another has written there.
  const open = fence(it.dir, () => writeFileSync(it.at('a'), 'theirs'));
  removeNow(it.at('a'));
  open();
  expect(readFileSync(it.at('a'), 'utf8')).toBe('theirs');
});

test('a file that it was just flushing does not get its name, and nothing of it stays', async () => {
  await using it = await temp();
  writeFileSync(it.at('a'), 'theirs');
  let isOurs = true;
  const open = fence(it.dir, () => {
    if (!isOurs) throw new Superseded();
  });
  const first = async () => {
    isOurs = false;
  };
  await expect(writeFileAtomic(it.at('a'), 'ours', { first })).rejects.toThrow(Superseded);
  open();
  expect(readFileSync(it.at('a'), 'utf8')).toBe('theirs');
  expect(readdirSync(it.dir)).toEqual(['a']);
});

test('nothing is written or removed any more, in whatever way', async () => {
  await using it = await temp();
  writeFileSync(it.at('a'), 'theirs');
  const open = fence(it.dir, refuse);
  await expect(writeFileAtomic(it.at('a'), 'ours')).rejects.toThrow(Superseded);
  await expect(writeNewFile(it.at('b'), 'ours', 0o600)).rejects.toThrow(Superseded);
  expect(() => writeFresh(it.at('b'), 'ours', 0o600)).toThrow(Superseded);
  expect(() => overwriteJson(it.at('a'), {})).toThrow(Superseded);
  await expect(removeAside(it.at('a'))).rejects.toThrow(Superseded);
  expect(() => removeNow(it.at('a'))).toThrow(Superseded);
  open();
  expect(readdirSync(it.dir)).toEqual(['a']);
  expect(readFileSync(it.at('a'), 'utf8')).toBe('theirs');
});

test('a fence holds for its folder and what is in it, not for one whose name only begins so', () => {
  const open = fence('/runs/r1', refuse);
  expect(['/runs/r1', '/runs/r1/a'].map(mayWrite)).toEqual([false, false]);
  expect(['/runs/r10', '/runs/r10/a', '/runs'].map(mayWrite)).toEqual([true, true, true]);
  open();
  expect(mayWrite('/runs/r1/a')).toBe(true);
});

test('of several runs of one process each has its own sign', () => {
  const opened = ['r1', 'r10'].map((run) => fence(`/runs/${run}`, () => {}, `/runs/${run}/lock/2.json`));
  expect(['/runs/r10/a', '/runs/r1/a', '/runs/r2/a'].map(signOf)).toEqual([
    '/runs/r10/lock/2.json',
    '/runs/r1/lock/2.json',
    undefined,
  ]);
  for (const open of opened) open();
  expect(signOf('/runs/r1/a')).toBeUndefined();
});

test('trouble in looking whether something is ours is no answer', () => {
  const open = fence('/runs/r1', () => {
    throw new Error('the disk is gone');
  });
  expect(() => mayWrite('/runs/r1/a')).toThrow('the disk is gone');
  expect(() => beforeWrite('/runs/r1/a')).toThrow('the disk is gone');
  open();
});

test('a shell that starts when another process owns the run does nothing', async () => {
  await using it = await temp();
  const sign = it.at("who's next");
  const open = fence(it.dir, () => {}, sign);
  const sh = (text: string) =>
    realSpawn.run({
      argv: ['sh', '-c', text],
      cwd: it.dir,
      env: { PATH: process.env['PATH'] ?? '' },
      stdoutFile: it.at('out'),
      stderrFile: it.at('err'),
    });
  expect(await sh('echo one >> log')).toEqual({ kind: 'exited', code: 0 });
  // What `$?` is at its start is what it is without us.
  expect(await sh('exit')).toEqual({ kind: 'exited', code: 0 });
  writeFileSync(sign, '');
  expect(await sh('echo two >> log')).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
  open();
  expect(readFileSync(it.at('log'), 'utf8')).toBe('one\n');
});

test.runIf(linux)('processes that it has found stay: they may be the other owner’s', async () => {
  const mark = randomUUID();
  const child = spawn('sleep', ['1000'], { env: { PATH: process.env['PATH'], MARK: mark } });
  await once(child, 'spawn');
  expect(await sweep(`MARK=${mark}`, [], () => false)).toBe(0);
  expect(await sweep(`MARK=${mark}`)).toBe(1);
});
