/** Requests to stop a run are followed by the owner that they are for: between executions, or at once. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { processMarker } from '../../src/app/run/run-state.ts';
import { drainRun, stoppedBy, stopRun } from '../../src/app/stop.ts';
import { joinedRequest, type StopRequest } from '../../src/core/records/stop-request.ts';
import { realClock as clock } from '../../src/platform/clock.ts';
import { locksIn } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/open-run.ts';
import { leaveStopRequest, readStopRequest } from '../../src/run/stop-request.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';

const patient = { timeout: 20_000, interval: 10 };

/** A tool that says that it has begun, and ends once the file `go` is there. */
const held = (name: string): string =>
  `[shape=parallelogram, tool_command="echo ${name} >> $HERE/began; while [ ! -e $HERE/go ]; do sleep 0.02; done"]`;
const quick = (name: string): string => `[shape=parallelogram, tool_command="echo ${name} >> $HERE/began"]`;
const graph = (nodes: string): string =>
  `digraph t { workdir="none"; env_pass="HERE"; start [shape=Mdiamond]; done [shape=Msquare]\n${nodes} }`;
const line = graph(`a ${held('a')}; b ${quick('b')}; start -> a -> b -> done`);

async function started(dot: string, first: readonly string[], flags: Record<string, boolean> = {}) {
  const it = await house({ 'p.dot': dot }, (path) => ({ HERE: path }));
  const runDir = join(it.path, '.factory/runs/r1');
  const controller = new AbortController();
  const ended = it.called(['run', 'p.dot'], { runId: 'r1', ...flags }, undefined, controller);
  const began = (): string[] =>
    existsSync(join(it.path, 'began')) ? it.read('began').trim().split('\n') : [];
  await vi.waitFor(() => expect(began().sort()).toEqual(first), patient);
  return {
    ...it,
    ...{ runDir, ended, began },
    go: () => writeFileSync(join(it.path, 'go'), ''),
    stop: (afterNode: boolean, timeoutMs = 1) =>
      stopRun('r1', runDir, { who: 'ann', clock, afterNode, timeoutMs }),
    ask: (facts: Partial<StopRequest>) =>
      leaveStopRequest(runDir, {
        ...{ schema_version: 1, by: 'ann', at: clock.now().toISOString() },
        ...{ after_node: false, why: 'person', epoch: 1, ...facts },
      }),
    stopped: () => it.records('.factory/runs/r1/journal.jsonl').filter(({ type }) => type === 'Stopped'),
    async isWhole(): Promise<void> {
      expect((await verifyRun({ runDir, env: {} })).problems).toEqual([]);
      expect(existsSync(join(runDir, 'stop-request.json'))).toBe(false);
    },
  };
}

test('a run that is asked to stop after the node commits that node, begins no other and is resumed', async () => {
  await using it = await started(line, ['a']);
  expect(await it.stop(true)).toMatchObject({ kind: 'stopping' });
  it.go();
  expect(await it.ended).toMatchObject({
    code: 130,
    out: expect.stringContaining('ann (factory stop, after the node)'),
  });
  expect(it.began()).toEqual(['a']);
  expect(it.stopped()).toMatchObject([
    { status: 'interrupted', request: { by: 'ann', after_node: true, why: 'person' } },
  ]);
  expect((await it.verb(['why', 'r1'])).out).toContain('stopped by ann (factory stop, after the node)');
  expect((await it.verb(['logs', 'r1'], { json: true })).out).toContain(
    '"signal":"ann (factory stop, after the node)"',
  );
  expect(stoppedBy(it.runDir)).toBe('person');
  await it.isWhole();
  expect((await it.resume('r1')).code).toBe(0);
  expect(it.began()).toEqual(['a', 'b']);
  expect(stoppedBy(it.runDir)).toBeUndefined();
});

test('a request to stop at once ends the node, as a signal does', async () => {
  await using it = await started(line, ['a']);
  await it.ask({ why: 'drain', by: 'host~7' });
  expect((await it.ended).code).toBe(130);
  expect(it.stopped()).toMatchObject([
    { cut_ms: expect.any(Number), request: { after_node: false, why: 'drain' } },
  ]);
  expect(stoppedBy(it.runDir)).toBe('drain');
  await it.isWhole();
  it.go();
  expect((await it.resume('r1')).code).toBe(0);
  expect(it.began()).toEqual(['a', 'a', 'b']);
});

test('a request to an earlier or a later owner is not followed', async () => {
  await using it = await started(line, ['a']);
  await it.ask({ epoch: 7 });
  it.go();
  expect((await it.ended).code).toBe(0);
  expect(readStopRequest(it.runDir)?.epoch).toBe(7);
  expect(it.stopped()).toEqual([]);
});

test('one that an owner left behind when it was killed is removed by the next owner', async () => {
  await using it = await started(line, ['a']);
  await it.ask({});
  expect((await it.ended).code).toBe(130);
  await it.ask({});
  it.go();
  expect((await it.resume('r1')).code).toBe(0);
  await it.isWhole();
});

const fan = (most: number): string =>
  graph(`fan [shape=component, max_parallel=${most}]; a ${held('a')}; a2 ${quick('a2')}; b ${held('b')}; b2 ${quick('b2')}
    join [shape=tripleoctagon]; start -> fan; fan -> a -> a2 -> join; fan -> b -> b2 -> join; join -> done`);

test.for([
  [2, ['a', 'b']],
  [1, ['a']],
] as const)(
  'with %i branches at once, executions that have begun finish and no other begins',
  async ([most, first]) => {
    await using it = await started(fan(most), first);
    expect(await it.stop(true)).toMatchObject({ kind: 'stopping' });
    it.go();
    expect((await it.ended).code).toBe(130);
    expect(it.began().sort()).toEqual(first);
    await it.isWhole();
    expect((await it.resume('r1')).code).toBe(0);
    expect(it.began().sort()).toEqual(['a', 'a2', 'b', 'b2']);
  },
);

test('a branch that is suspended and another that is stopped leave an interrupted run', async () => {
  const dot = graph(`fan [shape=component]; a ${held('a')}; a2 ${quick('a2')}; w [type=wait, duration="1h"]
    join [shape=tripleoctagon]; start -> fan; fan -> a -> a2 -> join; fan -> w -> join; join -> done`);
  await using it = await started(dot, ['a']);
  expect(await it.stop(true)).toMatchObject({ kind: 'stopping' });
  it.go();
  expect((await it.ended).code).toBe(130);
  expect(it.began()).toEqual(['a']);
  await it.isWhole();
});

test('a process that waits to resume a suspended run stops waiting', async () => {
  const dot = graph(`a ${quick('a')}; w [type=wait, duration="1h"]; start -> a -> w -> done`);
  await using it = await started(dot, ['a'], { wait: true });
  // The suspension is recorded, and the process waits.
  await vi.waitFor(() => expect(locksIn(it.runDir)[0]?.released).toBeTypeOf('string'), patient);
  await it.ask({ after_node: true });
  expect((await it.ended).code).toBe(130);
  expect(existsSync(join(it.runDir, 'stop-request.json'))).toBe(false);
});

test('a process of the run cannot ask for its stop', async () => {
  await using it = await started(line, ['a']);
  const read = await openRun(it.runDir).manifest();
  if (!read.ok) throw new Error(read.why);
  vi.stubEnv('FACTORY_RUN_MARKER', processMarker(it.runDir, read.manifest));
  expect(await it.stop(true)).toMatchObject({
    kind: 'refused',
    why: expect.stringContaining('a process of the run itself'),
  });
  vi.unstubAllEnvs();
  it.go();
  expect((await it.ended).code).toBe(0);
});

test('a worker that drains asks the owner, and a person who asks as well comes first', async () => {
  await using it = await started(line, ['a']);
  const drain = (atOnce: boolean) => drainRun(it.runDir, { worker: 'w', atOnce, clock });
  expect(await drain(false)).toBe(true);
  expect(readStopRequest(it.runDir)).toMatchObject({ by: 'w', why: 'drain', after_node: true });
  await it.stop(true);
  expect(readStopRequest(it.runDir)).toMatchObject({ by: 'ann', why: 'person', after_node: true });
  await drain(true);
  expect((await it.ended).code).toBe(130);
  expect(it.stopped()).toMatchObject([{ request: { by: 'ann', why: 'person', after_node: false } }]);
  expect(await drain(true)).toBe(false);
});

test('of any requests to one owner the earliest end counts, and a person before a worker', () => {
  const request = fc.record({
    schema_version: fc.constant(1 as const),
    by: fc.constantFrom('ann', 'w'),
    at: fc.constant(''),
    after_node: fc.boolean(),
    why: fc.constantFrom('person' as const, 'drain' as const),
    epoch: fc.constant(1),
  });
  fc.assert(
    fc.property(fc.array(request, { minLength: 1 }), (all) => {
      const [first, ...rest] = all;
      if (first === undefined) return;
      const { after_node, why } = rest.reduce(joinedRequest, first);
      expect(after_node).toBe(all.every((one) => one.after_node));
      expect(why).toBe(all.some((one) => one.why === 'person') ? 'person' : 'drain');
    }),
  );
});
