/** A run whose edges restart it: killed at any line of its journal and resumed, it ends as the whole run. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { failed, type Outcome, succeeded } from '../../src/core/outcome.ts';
import { layout } from '../../src/core/records/layout.ts';
import { runLoop } from '../../src/engine/loop.ts';
import { conditional } from '../../src/nodes/conditional.ts';
import { exit } from '../../src/nodes/exit.ts';
import { start } from '../../src/nodes/start.ts';
import { openRun } from '../../src/run/open-run.ts';
import { temp } from '../platform/temp.ts';
import { defaultCaps } from '../support/caps.ts';
import { graphOf } from '../support/graph.ts';
import { attempts, prepared, work } from './prepared-run.ts';

const graph = graphOf(`
  loop_restart_persist_keys="kept, label"
  start [shape=Mdiamond]
  a [shape=parallelogram]
  g [shape=parallelogram, goal_gate=true, retry_target=a, max_visits=3]
  d [shape=diamond]
  done [shape=Msquare]
  start -> a -> g -> d
  a -> a [condition="outcome=fail", loop_restart=true]
  d -> a [condition="outcome=fail", loop_restart=true]
  g -> a [condition="preferred_label=again"]
  d -> done
`);

const boom = failed('boom', 'product', { updates: { kept: 2, lost: 2 } });
const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constantFrom('kept', 'lost', 'label').map((key) => succeeded({ updates: { [key]: 1 } })),
  fc.constantFrom(
    succeeded({ label: 'again' }),
    { ...succeeded(), status: 'partial_success' as const },
    boom,
  ),
);

/** Runs with these outcomes, one for each execution of the run, after what a killed process has left. */
async function run(dir: string, given: readonly Outcome[], left?: string) {
  const ready = await prepared(dir, graph, {
    kinds: [start, exit, conditional, work(() => succeeded())],
    run: { caps: { ...defaultCaps, max_steps: 25, max_restarts: 2 } },
    ...(left === undefined ? {} : { left }),
    execute: attempts(async ({ kind: { executable }, state }) => {
      const mine = executable ? given[state.steps % given.length] : state.last_outcome;
      const outcome = executable ? mine : { ...(mine ?? succeeded()), updates: {} };
      return { outcome: outcome ?? succeeded(), snapshot: { id: `s${state.steps}`, tree: new Map() } };
    }),
  });
  const { ending } = await runLoop(ready);
  await ready.close();
  const history = openRun(dir).history();
  if (!history.ok) throw new Error(history.why);
  const records = history.records.map(({ seq: _, prev: __, epoch: ___, ...record }) => record);
  const { epoch: _, ...state } = history.checkpoint;
  return { ending, records, state };
}

test('a run with restarts that is killed after any line of its journal and resumed ends as the whole run', async () => {
  const restarts = new Set<number | undefined>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(outcomes, { minLength: 5, maxLength: 25 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (given, part) => {
        await using it = await temp();
        const whole = await run(it.dir, given);
        restarts.add(whole.state.restarts);
        const lines = readFileSync(layout(it.dir).journal, 'utf8').split(/(?<=\n)/);
        const left = lines.slice(0, Math.max(1, Math.round(part * (lines.length - 1))));
        expect(await run(it.dir, given, left.join(''))).toEqual(whole);
      },
    ),
    { numRuns: 40, examples: [0.2, 0.5, 0.9].map((part) => [Array(6).fill(boom), part]) },
  );
  // Some runs do not restart, and some until no restart is left.
  expect(restarts).toContain(undefined);
  expect(restarts).toContain(3);
});
