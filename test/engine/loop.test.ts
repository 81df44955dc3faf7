/** The loop: what it leaves on disk tells the state that it holds, and it walks the workspace no more than it must. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { kinds } from '../../src/app/kinds.ts';
import { failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import type { RunState } from '../../src/core/records/checkpoint.ts';
import { runLoop } from '../../src/engine/loop.ts';
import { conditional } from '../../src/nodes/conditional.ts';
import { exit } from '../../src/nodes/exit.ts';
import { start } from '../../src/nodes/start.ts';
import { StoreTrouble } from '../../src/platform/files/workspace-error.ts';
import { openRun } from '../../src/run/open-run.ts';
import { stateAfter } from '../../src/run/visits.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';
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

test('after every stage the journal, folded, gives the state that the loop continued with', async () => {
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
      const history = openRun(it.dir).history();
      if (!history.ok) throw new Error(history.why);
      expect(history.records).toHaveLength(states.length + 1);
      for (const [nth, state] of states.entries()) {
        const { completed_nodes, ...told } = stateAfter(history.records.slice(0, nth + 2));
        // The last one has the end of the run.
        const { spent: _, ...rest } = state;
        expect(told).toEqual({ ...rest, status: 'running', ended: null });
        expect(completed_nodes).toEqual(Object.keys(state.outcomes).sort());
      }
      const { completed_nodes: _, ...last } = history.checkpoint;
      expect(last).toEqual(end.state);
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
