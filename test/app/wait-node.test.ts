/** The node type `wait`: within the run up to `park_after`, while the run is suspended beyond that. */
import { expect, test } from 'vitest';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';

/** Waits of these runs, in milliseconds; all others are watches over locks. */
const ownWaits = [60_000, 30_000, 20_000, 3_600_000];

/** A clock that jumps over the run's own waits, and notes them. */
function jumping(): Clock & { readonly waits: number[]; advance(ms: number): void; stopAt: number } {
  let at = Date.parse('2026-03-01T00:00:00Z');
  const waits: number[] = [];
  const clock = {
    waits,
    stopAt: Number.POSITIVE_INFINITY,
    advance: (ms: number) => {
      at += ms;
    },
    now: () => new Date(at),
    monotonic: () => at,
    async sleep(ms: number, signal?: AbortSignal) {
      if (signal?.aborted === true) return;
      if (!ownWaits.includes(ms) || waits.length >= clock.stopAt)
        return new Promise<void>((resolve) =>
          signal?.addEventListener('abort', () => resolve(), { once: true }),
        );
      waits.push(ms);
      at += ms;
    },
  };
  return clock;
}

const dot = (duration: string, attributes = '') => `digraph t { workdir="none" ${attributes}
  start [shape=Mdiamond]; pause [shape=insulator, duration="${duration}"]
  work [shape=parallelogram, tool_command="echo $((1 + 1))"]; done [shape=Msquare]
  start -> pause -> work -> done }`;

async function waiting(duration: string, attributes?: string) {
  const clock = jumping();
  const it = await house({ 'p.dot': dot(duration, attributes) }, () => ({}), clock);
  return { ...it, clock, start: (options: object = {}) => it.run('p.dot', { runId: 'r1', ...options }) };
}

const of = (file: string) => `.factory/runs/r1/${file}`;

test('a short wait passes within the run, and counts in its time', async () => {
  await using it = await waiting('90s');
  expect((await it.start()).code).toBe(0);
  expect(it.clock.waits).toEqual([60_000, 30_000]);
  expect(it.json(of('result.json'))).toMatchObject({ status: 'completed', elapsed_ms: 90_000 });
  expect(it.json(of('pause/status.json'))).toMatchObject({ outcome: 'success', notes: 'waited 1m 30s' });
});

test('a long wait suspends the run until its time, and costs no wall-clock time', async () => {
  await using it = await waiting('2h', 'max_wall="5m"');
  const suspended = await it.start();
  expect(suspended.code).toBe(75);
  const wake_at = '2026-03-01T02:00:00.000Z';
  expect(it.json(of('checkpoint.json'))).toMatchObject({
    status: 'paused_wait',
    next_node: 'pause',
    parked: { node: 'pause', wake_at, reason: 'a wait of 2h00m' },
  });
  expect(suspended.out).toContain(`suspended until ${wake_at}`);
  expect(suspended.out.trimEnd().split('\n').at(-1)).toMatch(/factory resume r1 --wait$/);
  expect((await it.runs()).out).toMatch(/suspended.*waits until/);

  it.clock.advance(3_600_000);
  expect((await it.resume('r1')).code).toBe(75);
  // Before its time it is the same wait, not a new one.
  expect((await it.resume('r1', { now: true })).code).toBe(75);
  expect(it.json(of('checkpoint.json')).parked.wake_at).toBe(wake_at);
  it.clock.advance(3_600_000);
  expect((await it.resume('r1')).code).toBe(0);
  expect(it.json(of('result.json'))).toMatchObject({ status: 'completed', elapsed_ms: 0 });
  expect((await verifyRun({ runDir: `${it.path}/.factory/runs/r1`, env: {} })).problems).toEqual([]);
});

test('a run that is started with --wait resumes by itself after the wait', async () => {
  await using it = await waiting('1h', 'park_after="30s"');
  const ended = await it.start({ wait: true });
  expect(ended.code).toBe(0);
  expect(ended.err).toContain('node pause waits');
  expect(it.json(of('checkpoint.json'))).toMatchObject({ status: 'completed', elapsed_ms: 0 });
});

test('an interrupted wait ends at once, and a resume waits only for the rest', async () => {
  await using it = await waiting('80s');
  it.clock.stopAt = 1;
  const stopped = await it.runUntil('p.dot', { runId: 'r1' }, () => it.clock.waits.length === 1);
  expect(stopped.code).toBe(130);
  it.clock.stopAt = Number.POSITIVE_INFINITY;
  expect((await it.resume('r1')).code).toBe(0);
  expect(it.clock.waits).toEqual([60_000, 20_000]);
});

test('the limit of the run ends a wait', async () => {
  await using it = await waiting('100s', 'max_wall="90s"');
  expect((await it.start()).code).toBe(1);
  expect(it.json(of('result.json')).reason).toMatch(/max_wall/);
  expect(it.clock.waits).toEqual([60_000, 30_000]);
});

test('a replay does not wait', async () => {
  await using it = await waiting('90s');
  await it.start();
  it.clock.waits.length = 0;
  expect((await it.replay('r1', { runId: 'r2' })).code).toBe(0);
  expect(it.clock.waits).toEqual([]);
});
