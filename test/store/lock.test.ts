import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openJournal } from '../../src/store/journal.ts';
import { acquireLock, type Lock, type LockOptions, ownerOf } from '../../src/store/lock.ts';
import type { Clock } from '../../src/system/clock.ts';
import { processId, type Self, thisProcess } from '../../src/system/proc.ts';
import { temp } from '../system/temp.ts';

/** A clock and a timer that the test moves. */
function hands() {
  let ms = Date.parse('2026-01-01T00:00:00.000Z');
  const beats = new Set<() => void>();
  const clock: Clock = { now: () => new Date(ms), monotonic: () => ms, sleep: () => Promise.resolve() };
  return {
    options: {
      clock,
      every: (_, work) => {
        beats.add(work);
        return () => void beats.delete(work);
      },
    } satisfies LockOptions,
    pass(seconds: number) {
      ms += seconds * 1000;
    },
    beat: () => {
      for (const work of beats) work();
    },
    beating: () => beats.size,
  };
}

async function take(dir: string, options: LockOptions): Promise<Lock> {
  const answer = await acquireLock(dir, options);
  if (answer.kind === 'refused') throw new Error(answer.why);
  return answer.lock;
}

const elsewhere: Self = { ...thisProcess(), host: 'elsewhere' };

test('a run has one owner, who is named to whoever else wants it', async () => {
  await using it = await temp();
  const { options } = hands();
  const lock = await take(it.dir, options);
  expect(lock).toMatchObject({ epoch: 1 });
  expect(lock.takenOver).toBeUndefined();
  expect(await acquireLock(it.dir, options)).toEqual({
    kind: 'refused',
    owner: expect.objectContaining({ pid: process.pid, host: thisProcess().host, epoch: 1 }),
    why: `this run is owned by process ${process.pid} on ${thisProcess().host} since 2026-01-01T00:00:00.000Z; wait until it ends, or end that process`,
  });
  expect(await ownerOf(it.dir, options.clock)).toMatchObject({ pid: process.pid });
  expect(await lock.stillOwner()).toBe(true);
});

test('a released run is taken without a notice, with the next epoch', async () => {
  await using it = await temp();
  const { options, beating } = hands();
  const first = await take(it.dir, options);
  await first.release();
  await first.release();
  expect(beating()).toBe(0);
  expect(await first.stillOwner()).toBe(false);
  expect(await ownerOf(it.dir, options.clock)).toBeUndefined();
  const second = await take(it.dir, options);
  expect(second.epoch).toBe(2);
  expect(second.takenOver).toBeUndefined();
  expect(readdirSync(it.at('lock')).sort()).toEqual(['000001.json', '000002.json']);
});

test('of many that want a run at the same moment exactly one gets it, a fresh one and a dead one’s', async () => {
  await using it = await temp();
  const { options } = hands();
  for (let round = 1; round <= 5; round++) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => acquireLock(it.dir, options)));
    const winners = answers.filter((answer) => answer.kind === 'acquired');
    expect(winners.map(({ lock }) => lock.epoch)).toEqual([round]);
    // A dead owner: the same lock, held by a process that has never been.
    const path = it.at('lock', `00000${round}.json`);
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), start_time: '1' }));
  }
});

test('an owner that was killed is taken over, with a notice', async () => {
  await using it = await temp();
  const { options } = hands();
  const holder = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const id = processId(holder.pid ?? 0);
  if (id === undefined) throw new Error('the holder does exist');
  const held = await take(it.dir, { ...options, self: { ...thisProcess(), id } });
  expect(await acquireLock(it.dir, options)).toMatchObject({ kind: 'refused', owner: { pid: id.pid } });
  const gone = once(holder, 'exit');
  holder.kill('SIGKILL');
  await gone;
  const lock = await take(it.dir, options);
  expect(lock.epoch).toBe(2);
  expect(lock.takenOver).toMatchObject({ pid: id.pid, host: thisProcess().host, epoch: 1 });
  expect(await held.stillOwner()).toBe(false);
  expect(await lock.stillOwner()).toBe(true);
  // The old owner's goodbye, should it wake after all, frees nothing.
  await held.release();
  expect(await acquireLock(it.dir, options)).toMatchObject({ kind: 'refused', owner: { pid: process.pid } });
});

describe('an owner that cannot be seen from here', () => {
  test.for([
    { name: 'on another host', self: elsewhere },
    { name: 'in another container or before a restart', self: { ...thisProcess(), pidSpace: 'another' } },
  ])(
    '$name keeps the run while its heart beats, and loses it after a minute of silence',
    async ({ self }) => {
      await using it = await temp();
      const { options, pass, beat } = hands();
      const far = await take(it.dir, { ...options, self });
      pass(55);
      beat();
      await far.stillOwner();
      pass(59);
      const refusal = await acquireLock(it.dir, options);
      expect(refusal).toMatchObject({ kind: 'refused', owner: { host: self.host } });
      expect(refusal.kind === 'refused' && refusal.why).toMatch(
        /last sign of life was 59 s ago.*taken over once .* silent for 60 s/,
      );
      pass(2);
      const lock = await take(it.dir, options);
      expect(lock.takenOver).toMatchObject({ host: self.host, epoch: 1 });
      expect(await far.stillOwner()).toBe(false);
    },
  );

  test('is not thought silent because its clock is ahead', async () => {
    await using it = await temp();
    const { options, pass } = hands();
    await take(it.dir, { ...options, self: elsewhere });
    pass(-3600);
    expect(await acquireLock(it.dir, options)).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(/life was 0 s ago/),
    });
  });
});

test('a heartbeat does not bring back a run directory that was removed', async () => {
  await using it = await temp();
  const { options, beat } = hands();
  const lock = await take(it.at('run'), options);
  rmSync(it.at('run'), { recursive: true });
  beat();
  expect(await lock.stillOwner()).toBe(false);
  await lock.release();
  expect(existsSync(it.at('run'))).toBe(false);
});

test('an unreadable lock is respected until it is old', async () => {
  await using it = await temp();
  const { options, pass } = hands();
  await (await take(it.dir, options)).release();
  const path = it.at('lock', '000002.json');
  writeFileSync(path, '{"schema_ver');
  const now = options.clock.now();
  utimesSync(path, now, now);
  expect(await acquireLock(it.dir, options)).toMatchObject({
    kind: 'refused',
    owner: undefined,
    why: expect.stringContaining(path),
  });
  pass(61);
  expect((await take(it.dir, options)).epoch).toBe(3);
});

test('where the lock folder was removed by hand, epochs go on after those in the journals', async () => {
  await using it = await temp();
  const { options } = hands();
  const trace = await openJournal(it.at('trace.jsonl'), { runId: 'r', epoch: 7, sync: false });
  trace.append({ type: 'x' });
  await trace.close();
  expect((await take(it.dir, options)).epoch).toBe(8);
});
