/** An owner that was stopped in the middle of things, and wakes when its run is somebody else's. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fence, Superseded } from '../../src/system/fence.ts';
import { writeFileAtomic } from '../../src/system/files.ts';
import { realSpawn, sweep } from '../../src/system/processes.ts';
import { temp } from './temp.ts';

const linux = process.platform === 'linux';

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

test('what we own does not come back by us when somebody has removed the whole of it', async () => {
  await using it = await temp();
  const open = fence(it.at('run'), () => {}, it.at('run', 'lock', '000002.json'));
  await expect(writeFileAtomic(it.at('run', 'a', 'status.json'), '')).rejects.toThrow(/run was removed/);
  open();
  expect(existsSync(it.at('run'))).toBe(false);
});

test('a shell that starts when the run is somebody else’s does nothing', async () => {
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
  expect(await sweep(`MARK=${mark}`, undefined, [], () => false)).toBe(0);
  expect(await sweep(`MARK=${mark}`)).toBe(1);
});
