import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { describe, expect, test, vi } from 'vitest';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { Superseded } from '../../src/platform/files/fence.ts';
import { isStopped, processId, type Self, thisProcess } from '../../src/platform/process/table.ts';
import { openJournal } from '../../src/run/journal.ts';
import {
  acquireLock,
  type Lock,
  type LockOptions,
  livingOwners,
  notReleased,
  ownerOf,
} from '../../src/run/lock.ts';
import { temp } from '../platform/temp.ts';

/** A clock and a timer that the test moves. */
function hands() {
  let ms = Date.parse('2026-01-01T00:00:00.000Z');
  let up = 1_000_000;
  const beats = new Set<() => void>();
  const clock: Clock = { now: () => new Date(ms), monotonic: () => up, sleep: () => Promise.resolve() };
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
      up += seconds * 1000;
    },
    /** Sets the wall clock. */
    set(seconds: number) {
      ms += seconds * 1000;
    },
    beat: () => {
      for (const work of beats) work();
    },
    /** Timers that have not been cleared. */
    listening: () => beats.size,
  };
}

async function take(dir: string, options: LockOptions): Promise<Lock> {
  mkdirSync(dir, { recursive: true });
  const answer = await acquireLock(dir, options);
  if (answer.kind === 'refused') throw new Error(answer.why);
  return answer.lock;
}

const elsewhere: Self = { ...thisProcess(), host: 'elsewhere' };

test('a run has one owner, and a refused process gets its name', async () => {
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
  const { options, listening, pass } = hands();
  const first = await take(it.dir, options);
  await first.release();
  const text = readFileSync(it.at('lock', '000001.json'), 'utf8');
  pass(5);
  await first.release();
  expect(readFileSync(it.at('lock', '000001.json'), 'utf8')).toBe(text);
  expect(listening()).toBe(0);
  expect(await first.stillOwner()).toBe(false);
  expect(await ownerOf(it.dir, options.clock)).toBeUndefined();
  const second = await take(it.dir, options);
  expect(second.epoch).toBe(2);
  expect(second.takenOver).toBeUndefined();
  expect(readdirSync(it.at('lock')).sort()).toEqual(['000001.json', '000002.json']);
});

test('where owners follow one another for ever only the lock of the latest is kept', async () => {
  await using it = await temp();
  const { options } = hands();
  const forgetful = { ...options, forgets: true };
  for (const epoch of [1, 2, 3]) {
    const lock = await take(it.dir, forgetful);
    expect(lock.epoch).toBe(epoch);
    expect(readdirSync(it.at('lock'))).toEqual([`00000${epoch}.json`]);
    expect(await acquireLock(it.dir, forgetful)).toMatchObject({ kind: 'refused', owner: { epoch } });
    await lock.release();
  }
});

test('a process that was stopped while it took such a lock does not have it beside a later owner', async () => {
  await using it = await temp();
  const { options } = hands();
  await (await take(it.dir, options)).release();
  const [first, third] = [it.at('lock', '000001.json'), it.at('lock', '000003.json')];
  /** Two others follow after it has read the lock before; the later one has removed all names before its own. */
  const now = () => {
    if (existsSync(first)) {
      const lock = JSON.parse(readFileSync(first, 'utf8'));
      writeFileSync(third, JSON.stringify({ ...lock, epoch: 3, released: null }));
      rmSync(first);
    }
    return options.clock.now();
  };
  const late = { ...options, clock: { ...options.clock, now }, forgets: true };
  expect(await acquireLock(it.dir, late)).toMatchObject({ kind: 'refused', owner: { epoch: 3 } });
  expect(readdirSync(it.at('lock'))).toEqual(['000003.json']);
});

test('of many processes that want a run at the same moment exactly one gets it, whether it is new or its owner is dead', async () => {
  await using it = await temp();
  const { options } = hands();
  for (let round = 1; round <= 5; round++) {
    const answers = await Promise.all(Array.from({ length: 40 }, () => acquireLock(it.dir, options)));
    const winners = answers.filter((answer) => answer.kind === 'acquired');
    expect(winners.map(({ lock }) => lock.epoch)).toEqual([round]);
    // A dead owner: the same lock, held by a process that never existed.
    const path = it.at('lock', `00000${round}.json`);
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), start_time: '1' }));
  }
});

test('the run of a killed owner is taken over, with a notice', async () => {
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
  // A late release by the old owner frees nothing.
  await held.release();
  expect(await acquireLock(it.dir, options)).toMatchObject({ kind: 'refused', owner: { pid: process.pid } });
});

describe('an owner on another host', () => {
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
        /last heartbeat was 59 s ago.*taken over once .* silent for 60 s/,
      );
      pass(2);
      const lock = await take(it.dir, options);
      expect(lock.takenOver).toMatchObject({ host: self.host, epoch: 1 });
      expect(await far.stillOwner()).toBe(false);
    },
  );

  test('is not considered silent because its clock is ahead', async () => {
    await using it = await temp();
    const { options, set } = hands();
    await take(it.dir, { ...options, self: elsewhere });
    set(-30);
    expect(await acquireLock(it.dir, options)).toMatchObject({
      kind: 'refused',
      why: expect.stringMatching(/heartbeat was 0 s ago.*try again: it is taken over once/),
    });
  });
});

/** A process that owns the run and is stopped. */
async function stoppedHolder() {
  const holder = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const id = processId(holder.pid ?? 0);
  if (id === undefined) throw new Error('the holder does exist');
  holder.kill('SIGSTOP');
  await vi.waitFor(() => expect(isStopped(id)).toBe(true), { timeout: 20_000, interval: 2 });
  return {
    id,
    self: { ...thisProcess(), id },
    [Symbol.asyncDispose]: async () => {
      const gone = once(holder, 'exit');
      holder.kill('SIGKILL');
      await gone;
    },
  };
}

describe.skipIf(process.platform !== 'linux')('an owner on this host that is stopped', () => {
  test('keeps the run however long it is silent, and the refusal gives a fix', async () => {
    await using it = await temp();
    await using holder = await stoppedHolder();
    const { options, pass } = hands();
    await take(it.dir, { ...options, self: holder.self });
    pass(24 * 3600);
    const { pid } = holder.id;
    expect(await acquireLock(it.dir, options)).toMatchObject({
      kind: 'refused',
      owner: { pid },
      why: expect.stringMatching(`is stopped; .*kill -CONT ${pid}, or end it with kill -KILL ${pid}`),
      takeOver: expect.stringMatching('at once with --take-over'),
    });
  });

  test('loses it to --take-over, and notices that when it is continued', async () => {
    await using it = await temp();
    await using holder = await stoppedHolder();
    const { options, beat } = hands();
    const held = await take(it.dir, { ...options, self: holder.self });
    const heir = await take(it.dir, { ...options, takeOver: true });
    expect(heir.takenOver).toMatchObject({ pid: holder.id.pid, epoch: 1, how: 'stopped' });
    const path = it.at('lock', '000001.json');
    const was = readFileSync(path, 'utf8');
    beat();
    expect(await held.stillOwner()).toBe(false);
    expect(held.lost.reason).toBeInstanceOf(Superseded);
    expect(() => held.assertOwner()).toThrow(`taken over by process ${process.pid} on ${thisProcess().host}`);
    await held.release();
    expect(readFileSync(path, 'utf8')).toBe(was);
    expect(await heir.stillOwner()).toBe(true);
  });
});

test('a running owner keeps its run after a suspend of the machine and after changes of the clock', async () => {
  await using it = await temp();
  const { options, pass, set } = hands();
  await take(it.dir, options);
  for (const change of [() => pass(24 * 3600), () => set(-72 * 3600), () => set(1000 * 3600)]) {
    change();
    expect(await acquireLock(it.dir, { ...options, takeOver: true })).toMatchObject({
      kind: 'refused',
      owner: { pid: process.pid },
    });
  }
});

test('a pid that another process has reused is not an owner', async () => {
  await using it = await temp();
  const { options } = hands();
  const id = { ...thisProcess().id, startTime: '1' };
  await take(it.dir, { ...options, self: { ...thisProcess(), id } });
  expect((await take(it.dir, options)).takenOver).toMatchObject({ pid: process.pid, how: 'gone' });
});

test('a released lock still has the time of the last heartbeat', async () => {
  await using it = await temp();
  const { options, pass, set, beat } = hands();
  const lock = await take(it.dir, options);
  pass(20);
  // The time of ownership is measured by a monotonic clock.
  set(-7200);
  beat();
  await lock.stillOwner();
  const heartbeat = options.clock.now().toISOString();
  pass(5);
  await lock.release();
  expect(JSON.parse(readFileSync(it.at('lock', '000001.json'), 'utf8'))).toMatchObject({
    heartbeat,
    held_ms: 20_000,
    released: options.clock.now().toISOString(),
  });
});

test('taking the lock does not recreate a removed run directory', async () => {
  await using it = await temp();
  const removed = it.at('removed');
  await expect(acquireLock(removed, hands().options)).rejects.toThrow(/removed was removed/);
  expect(existsSync(removed)).toBe(false);
});

test('a heartbeat does not recreate a removed run directory', async () => {
  await using it = await temp();
  const { options, beat } = hands();
  const lock = await take(it.at('run'), options);
  rmSync(it.at('run'), { recursive: true });
  beat();
  expect(await lock.stillOwner()).toBe(false);
  await lock.release();
  expect(existsSync(it.at('run'))).toBe(false);
});

test('an owner on another host loses the run to --take-over, and does not get it back when the next lock is removed', async () => {
  await using it = await temp();
  const { options } = hands();
  const lost = await take(it.dir, { ...options, self: elsewhere });
  expect(await acquireLock(it.dir, options)).toMatchObject({
    takeOver: expect.stringContaining('--take-over'),
  });
  const next = await take(it.dir, { ...options, takeOver: true });
  expect(next.takenOver).toMatchObject({ host: 'elsewhere', how: 'silent' });
  expect(() => lost.assertOwner()).toThrow(Superseded);
  rmSync(it.at('lock', '000002.json'));
  expect(() => lost.assertOwner()).toThrow(Superseded);
  expect(await lost.stillOwner()).toBe(false);
});

test('a heartbeat that cannot be written is reported until one succeeds', async () => {
  await using it = await temp();
  const { options, beat } = hands();
  const lock = await take(it.dir, options);
  const path = it.at('lock', '000001.json');
  const text = readFileSync(path);
  rmSync(path);
  mkdirSync(path);
  beat();
  await expect(lock.stillOwner()).rejects.toThrow(path);
  rmdirSync(path);
  writeFileSync(path, text);
  beat();
  expect(await lock.stillOwner()).toBe(true);
});

test('a new run of the same process in the same folder is not disturbed by the old lock', async () => {
  await using it = await temp();
  const { options, pass, beat } = hands();
  const old = await take(it.dir, options);
  rmSync(it.at('lock'), { recursive: true });
  pass(1);
  const lock = await take(it.dir, options);
  const path = it.at('lock', '000001.json');
  const text = readFileSync(path, 'utf8');
  pass(1);
  await old.release();
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(await old.stillOwner()).toBe(false);
  beat();
  expect(await lock.stillOwner()).toBe(true);
});

test('a lock whose temporary file was removed before the rename is written again', async () => {
  await using it = await temp();
  const { options } = hands();
  const { linkSync } = fs;
  let tries = 0;
  fs.linkSync = (from, to) => {
    if (tries++ === 0) rmSync(from);
    linkSync(from, to);
  };
  syncBuiltinESMExports();
  try {
    expect(await take(it.dir, options)).toMatchObject({ epoch: 1 });
  } finally {
    fs.linkSync = linkSync;
    syncBuiltinESMExports();
  }
  expect(tries).toBe(2);
  expect(readdirSync(it.at('lock'))).toEqual(['000001.json']);
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
    takeOver: expect.stringContaining('--take-over'),
  });
  pass(61);
  const lock = await take(it.dir, options);
  expect(lock.epoch).toBe(3);
  await lock.release();
  mkdirSync(it.at('lock', '000004.json'));
  expect((await take(it.dir, { ...options, takeOver: true })).epoch).toBe(5);
});

test('if the lock folder was removed, epochs continue after those in the journals', async () => {
  await using it = await temp();
  const { options } = hands();
  const trace = await openJournal(it.at('trace.jsonl'), { runId: 'r', epoch: 7, sync: false });
  trace.append({ type: 'x' });
  await trace.close();
  expect((await take(it.dir, options)).epoch).toBe(8);
});

test('former owners that are alive are known, however many owners followed, released or not', async () => {
  await using it = await temp();
  const { options } = hands();
  const of = (pid: number, host = thisProcess().host): LockOptions => ({
    ...options,
    takeOver: true,
    self: { ...thisProcess(), host, id: { ...thisProcess().id, pid } },
  });
  // The first looks stopped from this process; the second has ended; the third is on another machine.
  await take(it.dir, options);
  const file = it.at('lock', '000001.json');
  const first = readFileSync(file, 'utf8');
  writeFileSync(file, first.replace(/"released": null/, '"released": "2026-01-01T00:00:00.000Z"'));
  await take(it.dir, of(2 ** 22 + 1));
  await take(it.dir, of(process.pid, 'elsewhere'));
  expect(livingOwners(it.dir)).toEqual([process.pid]);
  writeFileSync(file, first);
  expect(livingOwners(it.dir)).toEqual([process.pid]);
  rmSync(file);
  expect(livingOwners(it.dir)).toEqual([]);
});

test('an owner that released the run earlier says nothing about what a later owner did', async () => {
  await using it = await temp();
  const { options } = hands();
  await (await take(it.dir, options)).release();
  expect(await notReleased(it.dir, 1)).toBe(false);
  const lock = await take(it.dir, options);
  expect(await notReleased(it.dir, 2)).toBe(true);
  const events = await openJournal(it.at('events.jsonl'), { runId: 'r', epoch: 2, sync: false });
  events.append({ type: 'x' });
  await events.close();
  expect(await notReleased(it.dir, 2)).toBe(true);
  await lock.release();
  expect(await notReleased(it.dir, 2)).toBe(false);
});
