/** The loop: what it leaves on disk tells the state that it holds, and it walks the workspace no more than it must. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runLoop } from '../../src/engine/run.ts';
import type { RunState } from '../../src/model/checkpoint.ts';
import { layout, nodeLayout } from '../../src/model/layout.ts';
import type { Outcome } from '../../src/model/outcome.ts';
import { failed, succeeded } from '../../src/model/outcome.ts';
import { conditional } from '../../src/nodes/conditional.ts';
import { exit } from '../../src/nodes/exit.ts';
import { kinds } from '../../src/nodes/index.ts';
import { start } from '../../src/nodes/start.ts';
import { loadCheckpoint } from '../../src/store/checkpoint.ts';
import { readVisits, stateAfter } from '../../src/store/visits.ts';
import { StoreTrouble } from '../../src/workspace/trouble.ts';
import { graphOf } from '../support/graph.ts';
import { temp } from '../system/temp.ts';
import { attempts, noSnapshots, prepared, work } from './prepared-run.ts';

const updates = fc.dictionary(
  fc.constantFrom('a', 'b', 'constructor', 'last_failure.x'),
  fc.jsonValue().filter((value) => !JSON.stringify(value).includes('__proto__')),
  {
    maxKeys: 2,
  },
);
const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  updates.map((some) => succeeded({ updates: JSON.parse(JSON.stringify(some)) })),
  fc.constantFrom(
    succeeded({ label: 'again', notes: 'n' }),
    { ...succeeded(), status: 'retry' as const, reason: 'not yet' },
    { ...succeeded(), status: 'partial_success' as const },
    failed('boom', 'product', { exitCode: 3 }),
    failed('down', 'infra', { broke: true, classSaid: true }),
  ),
);

const loop = graphOf(`
  start [shape=Mdiamond]
  a [shape=parallelogram, max_retries=1, retry_on=fail]
  b [shape=parallelogram, goal_gate=true, retry_target=a]
  d [shape=diamond]
  done [shape=Msquare]
  start -> a -> b -> d
  b -> a [label=again, weight=2]
  a -> d [condition="outcome=fail"]
  d -> a [condition="outcome=fail"]
  d -> done
`);

test('after every stage visits.jsonl, folded, gives the state that the loop continued with', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(outcomes, { minLength: 12, maxLength: 12 }), async (given) => {
      await using it = await temp();
      let made = 0;
      const states: RunState[] = [];
      const all = [start, exit, conditional, work(() => succeeded())];
      const ready = await prepared(it.dir, loop, {
        kinds: all,
        execute: attempts(async ({ kind: { executable }, state }) => {
          const previous = state.last_outcome ?? succeeded();
          const outcome = executable ? (given[made++ % given.length] ?? succeeded()) : previous;
          return {
            outcome: executable ? outcome : { ...outcome, updates: {} },
            snapshot: { id: `s${made}`, tree: new Map() },
          };
        }),
        saved: (state) => states.push(state),
      });
      const end = await runLoop(ready);
      await ready.close();
      const visits = await readVisits(it.at('visits.jsonl'));
      if (!visits.ok) throw new Error(visits.why);
      expect(visits.records).toHaveLength(states.length + 1);
      for (const [nth, state] of states.entries()) {
        const { completed_nodes, ...told } = stateAfter(visits.records, nth + 2);
        // What was spent has its own file.
        const { spent: _, ...rest } = state;
        expect(told).toEqual({ ...rest, status: 'running', ended: null });
        expect(completed_nodes).toEqual(Object.keys(state.outcomes).sort());
      }
      const loaded = await loadCheckpoint(it.at('checkpoint.json'));
      expect(loaded).toMatchObject({ ok: true, checkpoint: end.state });
    }),
    { numRuns: 10 },
  );
});

test('snapshots that cannot be written stop the run before the stage, which is not blamed for them', async () => {
  await using it = await temp();
  const take = async () => {
    throw new StoreTrouble(
      'cannot write a snapshot into "/r/snapshots": the system does not permit it (EPERM)',
    );
  };
  const ready = await prepared(
    it.dir,
    graphOf(`
      start [shape=Mdiamond]
      a [shape=parallelogram]
      other [shape=Msquare]
      start -> a -> other
    `),
    {
      kinds: [start, exit, work(() => succeeded())],
      snapshots: { ...noSnapshots, take },
    },
  );
  const end = await runLoop(ready);
  await ready.close();
  expect(end.ending).toMatchObject({ ok: false, exitNode: null, reason: expect.stringContaining('EPERM') });
  expect(end.state).toMatchObject({ next_node: 'a', steps: 1, last_failure: null });
});

test('the checkpoint of the execution at which the breaker stops a loop records the end of the run', async () => {
  await using it = await temp();
  const states: RunState[] = [];
  const graph =
    graphOf(`start [shape=Mdiamond]; judge [shape=parallelogram, tool_command="false"]; fix [shape=box]
    exit [shape=Msquare]; start -> judge; judge -> exit [condition="outcome=success"]; judge -> fix; fix -> judge`);
  const ready = await prepared(it.dir, graph, {
    kinds,
    execute: attempts(async ({ node, before }) => ({
      outcome: node.id === 'judge' ? failed('no', 'product') : succeeded(),
      snapshot: before,
    })),
    saved: (state) => states.push(state),
  });
  const { ending } = await runLoop(ready);
  await ready.close();
  expect(ending.reason).toMatch(/^loop_stopped: node judge failed alike 3 times/);
  expect(states.at(-1)).toMatchObject({
    next_node: 'fix',
    status: 'failed',
    ended: { reason: ending.reason },
  });
});

test('a stage starts when the checkpoint before it is on the disk, and its story is flushed before the next checkpoint', async () => {
  await using it = await temp();
  const log: string[] = [];
  let runs = 0;
  const ready = await prepared(
    it.dir,
    graphOf(`
      start [shape=Mdiamond]
      a [shape=parallelogram, max_visits=2]
      b [shape=parallelogram]
      done [shape=Msquare]
      start -> a
      a -> a [condition="outcome=fail"]
      a -> b [condition="outcome=success"]
      b -> done
    `),
    {
      kinds: [start, exit, work(() => succeeded())],
      execute: attempts(async ({ node, before }) => {
        if (node.id === 'a' || node.id === 'b') log.push(`${node.id} runs`);
        const outcome = runs++ === 1 ? failed('once', 'product') : succeeded();
        return { outcome, snapshot: before };
      }),
    },
  );
  const path = nodeLayout(layout(ready.setting.runDir).node('a')).stage;
  const visitIn = () => {
    try {
      return JSON.parse(readFileSync(path, 'utf8')).visit;
    } catch {
      return 0;
    }
  };
  const events = {
    ...ready.events,
    flush: async () => {
      await ready.events.flush();
      log.push('story');
    },
  };
  await runLoop({
    ...ready,
    events,
    save: async (state, visit) => {
      const onDisk = await ready.save(state, visit);
      log.push(`${state.last_completed_node} saved`);
      return async () => {
        // Everything that need not wait gets its turn.
        for (let turn = 0; turn < 20; turn++) await new Promise((settle) => setImmediate(settle));
        await onDisk();
        log.push(`${state.last_completed_node} on disk, with a in visit ${visitIn()}`);
      };
    },
  });
  await ready.close();
  const orders = log.filter((line) => line !== 'story');
  expect(orders).toEqual([
    'start saved',
    // The next stage's folder is got ready meanwhile, …
    'start on disk, with a in visit 1',
    'a runs',
    'a saved',
    // … but not where it is that of the stage which was saved.
    'a on disk, with a in visit 1',
    'a runs',
    'a saved',
    'a on disk, with a in visit 2',
    'b runs',
    'b saved',
    'b on disk, with a in visit 2',
    'done saved',
    'done on disk, with a in visit 2',
  ]);
  for (const [index, line] of log.entries())
    if (line.endsWith(' saved') && line !== 'start saved') expect(log[index - 1]).not.toContain('on disk');
  const between = log.join('; ').split(/\w+ saved/);
  for (const part of between.slice(1)) expect(part).toMatch(/on disk.*story/);
});
