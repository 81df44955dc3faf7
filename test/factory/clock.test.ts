/** The wall clock is for people: a run whose clock is set, backwards or far ahead, counts its time rightly. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type Doors, readPipeline, resumeRun, startRun } from '../../src/factory.ts';
import { newRunId } from '../../src/store/run-store.ts';
import { type Clock, realClock } from '../../src/system/clock.ts';
import { temp } from '../system/temp.ts';

const pipeline = `digraph g {
  workdir="none"
  max_wall="1h"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="exit 1", retry_on=fail, max_retries=1, retry_delay=1ms]
  two [shape=parallelogram, tool_command="true"]
  exit [shape=Msquare]
  start -> one
  one -> two [condition="outcome=fail"]
  two -> exit
}`;

/** Each look at it is `hours` after the one before. */
const jumping = (hours: number): Clock => {
  let ms = Date.parse('2026-06-01T12:00:00Z');
  return {
    ...realClock,
    now: () => {
      ms += hours * 3_600_000;
      return new Date(ms);
    },
  };
};

const flags = { vars: {}, envPass: [], allowDirty: false, acceptChanges: false };

test.for([{ hours: -7 }, { hours: 31 }])(
  'a clock that jumps $hours h at each look changes neither the route nor the time that a run took',
  async ({ hours }) => {
    await using it = await temp();
    writeFileSync(it.at('p.dot'), pipeline);
    mkdirSync(it.at('runs'));
    const { graph } = await readPipeline('p.dot', it.dir);
    if (graph === undefined) throw new Error('the pipeline is sound');
    const doors = (env: Doors['env']): Doors => ({
      cwd: it.dir,
      env: { PATH: process.env['PATH'], ...env },
      clock: jumping(hours),
      signal: new AbortController().signal,
      watcher: { event: () => {}, streamed: () => {}, spent: () => {} },
      log: () => {},
    });
    const where = { runsDir: it.at('runs'), runId: 'r1' };
    const stopped = await startRun(graph, where, flags, doors({ ATTRACTION_TEST_STOP_AFTER_NODE: 'one' }));
    expect(stopped).toMatchObject({ code: 1, result: { reason: 'test_stop' } });
    const dir = it.at('runs', 'r1');
    const elapsed = () => JSON.parse(readFileSync(join(dir, 'checkpoint.json'), 'utf8')).elapsed_ms;
    const before = elapsed();

    // As if the engine had been killed: its last sign of life is of another day than its checkpoint.
    const path = join(dir, 'lock', '000001.json');
    const lock = JSON.parse(readFileSync(path, 'utf8'));
    const heartbeat = new Date(Date.parse(lock.heartbeat) + 1000 * hours * 3_600_000).toISOString();
    writeFileSync(path, JSON.stringify({ ...lock, start_time: '1', released: null, heartbeat, held_ms: 40 }));
    const ended = await resumeRun(dir, graph, flags, doors({}));
    expect(ended).toMatchObject({ code: 0, result: { status: 'completed', stages: 4 } });
    expect(elapsed()).toBeGreaterThanOrEqual(before);
    expect(elapsed()).toBeLessThan(3_600_000);
    const events = readFileSync(join(dir, 'events.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    const took = events.filter((event) => 'elapsed_ms' in event).map((event) => event.elapsed_ms);
    expect(took.length).toBe(4);
    expect(took.every((ms) => ms >= 0 && ms < 3_600_000)).toBe(true);
  },
);

test('what a killed engine worked at a node counts for the time that the node may take', async () => {
  await using it = await temp();
  const limited = pipeline.replace('max_wall="1h"', '').replace('"true"]', '"true", max_wall=1h]');
  writeFileSync(it.at('p.dot'), limited);
  mkdirSync(it.at('runs'));
  const { graph } = await readPipeline('p.dot', it.dir);
  if (graph === undefined) throw new Error('the pipeline is sound');
  const doors = (env: Doors['env']): Doors => ({
    cwd: it.dir,
    env: { PATH: process.env['PATH'], ...env },
    clock: realClock,
    signal: new AbortController().signal,
    watcher: { event: () => {}, streamed: () => {}, spent: () => {} },
    log: () => {},
  });
  const where = { runsDir: it.at('runs'), runId: 'r1' };
  await startRun(graph, where, flags, doors({ ATTRACTION_TEST_STOP_AFTER_NODE: 'one' }));
  const dir = it.at('runs', 'r1');
  const path = join(dir, 'lock', '000001.json');
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const heartbeat = new Date(Date.parse(lock.heartbeat) + 7_200_000).toISOString();
  writeFileSync(
    path,
    JSON.stringify({ ...lock, start_time: '1', released: null, heartbeat, held_ms: 7_000_000 }),
  );
  const ended = await resumeRun(dir, graph, flags, doors({}));
  expect(ended).toMatchObject({
    code: 1,
    result: { reason: expect.stringMatching(/^max_wall: node "two"/) },
  });
});

test('run ids are never given twice, though the clock stands still or goes back', () => {
  const back = jumping(-1);
  const still: Clock = { ...realClock, now: () => new Date(0) };
  const ids = Array.from({ length: 1000 }, () => [newRunId(back), newRunId(still)]).flat();
  expect(new Set(ids).size).toBe(2000);
});

test('a wait longer than a timer can be is no end at once', async () => {
  using warned = vi.spyOn(process, 'emitWarning');
  const over = new AbortController();
  const slept = realClock.sleep(60 * 86_400_000, over.signal);
  over.abort();
  await slept;
  expect(warned).not.toHaveBeenCalled();
});
