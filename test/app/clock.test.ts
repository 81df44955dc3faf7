/** The wall clock is for people: a run whose clock is set, backwards or far ahead, counts its time rightly. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { resumeRun, startRun } from '../../src/app/run/index.ts';
import { lostTime } from '../../src/app/run/run-state.ts';
import type { Host } from '../../src/app/types.ts';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { layout } from '../../src/core/records/layout.ts';
import { realClock } from '../../src/platform/clock.ts';
import { openRun } from '../../src/run/open-run.ts';
import { newRunId } from '../../src/run/runs.ts';
import { temp } from '../platform/temp.ts';
import { pipelineIn } from '../support/host.ts';

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

const flags = { vars: {}, allowDirty: false, acceptChanges: false };

const doorsIn =
  (dir: string, clock: Host['clock']) =>
  (env: Host['env']): Host => ({
    cwd: dir,
    env: { PATH: process.env['PATH'], ...env },
    clock,
    signal: new AbortController().signal,
    watcher: { event: () => {}, streamed: () => {}, output: () => {}, spent: () => {} },
    log: () => {},
  });

test.for([{ hours: -7 }, { hours: 31 }])(
  'a clock that jumps $hours h at each look changes neither the route nor the time that a run took',
  async ({ hours }) => {
    await using it = await temp();
    const graph = await pipelineIn(it.dir, pipeline);
    const doors = doorsIn(it.dir, jumping(hours));
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

test.each(['an engine that was killed', 'one, and another that was killed right after it'])(
  'what %s worked at a node counts for the time that the node may take',
  async (killed) => {
    await using it = await temp();
    const limited = pipeline.replace('max_wall="1h"', '').replace('"true"]', '"true", max_wall=1h]');
    const graph = await pipelineIn(it.dir, limited);
    const doors = doorsIn(it.dir, realClock);
    const where = { runsDir: it.at('runs'), runId: 'r1' };
    await startRun(graph, where, flags, doors({ ATTRACTION_TEST_STOP_AFTER_NODE: 'one' }));
    const dir = it.at('runs', 'r1');
    const lock = JSON.parse(readFileSync(join(dir, 'lock', '000001.json'), 'utf8'));
    const held = killed.includes('another') ? [7_000_000, 0] : [7_000_000];
    for (const [n, held_ms] of held.entries()) {
      const epoch = n + 2;
      const left = { ...lock, epoch, start_time: '1', released: null, held_ms };
      writeFileSync(join(dir, 'lock', `00000${epoch}.json`), JSON.stringify(left));
    }
    const ended = await resumeRun(dir, graph, flags, doors({}));
    expect(ended).toMatchObject({
      code: 1,
      result: { reason: expect.stringMatching(/^max_wall: node "two"/) },
    });
  },
);

test('what the engine that wrote the last checkpoint worked after it counts, too', async () => {
  await using it = await temp();
  const limited = pipeline.replace('max_wall="1h"', '').replace('"true"]', '"true", max_wall=1h]');
  const graph = await pipelineIn(it.dir, limited);
  const doors = doorsIn(it.dir, realClock);
  const where = { runsDir: it.at('runs'), runId: 'r1' };
  await startRun(graph, where, flags, doors({ ATTRACTION_TEST_STOP_AFTER_NODE: 'one' }));
  const at = layout(it.at('runs', 'r1'));
  // As if it had been killed two hours after it: the line of the stop is missing.
  const lines = readFileSync(at.journal, 'utf8').trim().split('\n');
  writeFileSync(at.journal, `${lines.slice(0, -1).join('\n')}\n`);
  const history = openRun(at.root).history();
  if (!history.ok) throw new Error(history.why);
  const { checkpoint: state } = history;
  const path = join(at.locks, '000001.json');
  const lock = JSON.parse(readFileSync(path, 'utf8'));
  const heartbeat = new Date(Date.parse(state.at) + 7_000_000).toISOString();
  const left = { ...lock, start_time: '1', released: null, heartbeat, held_ms: 7_100_000 };
  writeFileSync(path, JSON.stringify(left));
  const ended = await resumeRun(at.root, graph, flags, doors({}));
  expect(ended).toMatchObject({
    code: 1,
    result: { reason: expect.stringMatching(/^max_wall: node "two"/) },
  });
});

const ms = Date.parse('2026-06-01T12:00:00Z');
const owner = (epoch: number, seconds: number, released: string | null = null) => ({
  epoch,
  heartbeat: new Date(ms + seconds * 1000).toISOString(),
  held_ms: seconds * 1000 + 400,
  released,
});

test.each([
  { status: 'running', owners: [owner(2, 100)], lost: 100_000, what: 'one that was killed' },
  { status: 'running', owners: [owner(2, 100, 'then')], lost: 0, what: 'one that gave the run free' },
  { status: 'interrupted', owners: [owner(2, 100)], lost: 0, what: 'one that had counted it' },
  { status: 'paused_quota', owners: [owner(2, 100)], lost: 0, what: 'one that had counted it and waited' },
  {
    status: 'running',
    owners: [owner(2, 100), owner(3, 50), owner(4, 20)],
    lost: 170_800,
    what: 'several, each of which was killed before its first checkpoint',
  },
  { status: 'interrupted', owners: [owner(2, 9, 'then'), owner(3, 50)], lost: 50_400, what: 'a later one' },
  { status: 'running', owners: [owner(2, -7200)], lost: 0, what: 'one whose clock was set back' },
  {
    status: 'running',
    owners: [{ ...owner(2, 7200), held_ms: 90_000 }],
    lost: 90_000,
    what: 'one whose clock was set forward',
  },
] as const)('time that is lost with $what', ({ status, owners, lost }) => {
  const at = new Date(ms).toISOString();
  expect(lostTime({ at, epoch: 2, status }, owners)).toBe(lost);
});

test('run ids are unique, even if the clock stops or is set back', () => {
  const back = jumping(-1);
  const still: Clock = { ...realClock, now: () => new Date(0) };
  const early: Clock = { ...realClock, now: () => new Date(-86_400_000) };
  const ids = Array.from({ length: 1000 }, () => [newRunId(back), newRunId(still), newRunId(early)]).flat();
  expect(new Set(ids).size).toBe(3000);
});

test('a wait longer than a timer can be is no end at once', async () => {
  using warned = vi.spyOn(process, 'emitWarning');
  const over = new AbortController();
  const slept = realClock.sleep(60 * 86_400_000, over.signal);
  over.abort();
  await slept;
  expect(warned).not.toHaveBeenCalled();
});
