/** A run is stopped by a signal to its owner, only to that very process and only once; or by a request where no signal reaches it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readActs } from '../../src/app/acts.ts';
import { stoppedBy, stopRun } from '../../src/app/stop.ts';
import { realClock } from '../../src/platform/clock.ts';
import { processId, thisProcess } from '../../src/platform/process/table.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { readStopRequest } from '../../src/run/stop-request.ts';

let run = '';
beforeEach(() => {
  run = mkdtempSync(join(tmpdir(), 'factory-stop-'));
});
afterEach(() => rmSync(run, { recursive: true, force: true }));

const clock = realClock;
const stop = (timeoutMs = 5000) => stopRun('r1', run, { who: 'ann', clock, timeoutMs });
const ownedBy = async (self: Partial<ReturnType<typeof thisProcess>>) => {
  const answer = await acquireLock(run, { clock, self: { ...thisProcess(), ...self } });
  if (answer.kind !== 'acquired') throw new Error(answer.why);
  return answer.lock;
};
/** A process that owns the run; it has begun when this settles. */
async function owner(script: string) {
  const child = spawn('sh', ['-c', `${script}; echo began; while :; do sleep 0.02; done`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  const id = processId(child.pid ?? 0);
  if (id === undefined) throw new Error('no process');
  await ownedBy({ id });
  return { child, ended: once(child, 'exit') };
}

test('the owner is interrupted, and the act is recorded', async () => {
  const { child, ended } = await owner('true');
  expect(await stop()).toMatchObject({ kind: 'stopped' });
  expect(await ended).toEqual([null, 'SIGINT']);
  expect(readActs(run)).toMatchObject([{ who: 'ann', what: 'stop', pid: child.pid }]);
  expect(await stop()).toMatchObject({ kind: 'not_running' });
});

test('an owner that takes its time is not signalled again by the next stop', async () => {
  const { child, ended } = await owner("trap 'echo asked' INT");
  let asked = 0;
  child.stdout.on('data', (text: Buffer) => {
    asked += String(text).split('asked').length - 1;
  });
  expect(await stop(1)).toMatchObject({ kind: 'stopping', pid: child.pid });
  await vi.waitFor(() => expect(asked).toBe(1), { timeout: 10_000, interval: 5 });
  expect(await stop(1)).toMatchObject({ kind: 'stopping' });
  child.kill('SIGTERM');
  await ended;
  expect(asked).toBe(1);
  expect(readActs(run)).toHaveLength(1);
});

test.for([
  ['on another host', { host: 'elsewhere' }],
  ['in another pid namespace', { pidSpace: 'another' }],
] as const)('an owner %s is asked by a file, until it has released the run', async ([, self]) => {
  const lock = await ownedBy(self);
  expect(await stop(1)).toMatchObject({ kind: 'stopping', pid: process.pid });
  expect(readStopRequest(run)).toMatchObject({ by: 'ann', after_node: false, why: 'person', epoch: 1 });
  expect(readActs(run)).toMatchObject([{ who: 'ann', what: 'stop', epoch: 1 }]);
  expect(stoppedBy(run)).toBe('person');
  const stopped = stop();
  await lock.release();
  expect(await stopped).toMatchObject({ kind: 'stopped' });
  expect(readStopRequest(run)).toBeUndefined();
  expect(await stop()).toMatchObject({ kind: 'not_running' });
});

test('an owner elsewhere whose run cannot be written is named', async () => {
  await ownedBy({ host: 'elsewhere' });
  mkdirSync(join(run, 'stop-request.json'));
  expect(await stop(1)).toMatchObject({
    kind: 'refused',
    why: expect.stringMatching(
      /owned by process \d+ on elsewhere since \S+, which cannot be seen.*cannot be written/,
    ),
  });
  expect(readActs(run)).toEqual([]);
});
