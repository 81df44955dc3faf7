/** Limits in the midst of a run: between attempts, and over visits that were cut. */
import { expect, test } from 'vitest';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import { type Outcome, succeeded } from '../../src/core/outcome.ts';
import type { LayerContext } from '../../src/engine/layers/layer.ts';
import { runLoop } from '../../src/engine/loop.ts';
import type { Run } from '../../src/engine/run-context.ts';
import { exit } from '../../src/nodes/exit.ts';
import { temp } from '../platform/temp.ts';
import { graphOf } from '../support/graph.ts';
import { attempts, prepared, work } from './prepared-run.ts';

const again: Outcome = { ...succeeded(), status: 'retry', reason: 'not yet' };

/** Runs `a`, then `b`; answers with how the run ended and the attempts that were made. */
async function ended(
  nodes: string,
  outcome: (attempts: number) => Outcome,
  more: (ready: Run, attempts: () => number) => Partial<Run>,
) {
  await using it = await temp();
  const made: LayerContext[] = [];
  const graph = graphOf(`${nodes}; done [shape=Msquare]; a -> b -> done`);
  const ready = await prepared(it.dir, graph, {
    kinds: [work(() => succeeded()), exit],
    execute: attempts(async (context) => {
      const { executable } = context.kind;
      if (executable) made.push(context);
      return { outcome: executable ? outcome(made.length) : succeeded(), snapshot: context.before };
    }),
  });
  const { ending, state } = await runLoop({ ...ready, ...more(ready, () => made.length) });
  await ready.close();
  return {
    ending,
    state,
    made: made.map(({ node, attempt }) => ({ node: node.id, ms: attempt.timeout.ms })),
  };
}

test('no attempt follows one that has spent more than the run may', async () => {
  const { ending, made } = await ended(
    'a [shape=parallelogram, max_retries=3]; b [shape=parallelogram]',
    () => again,
    (ready, attempts) => ({
      caps: { ...ready.caps, max_tokens: 10 },
      costs: Object.assign(Object.create(ready.costs), {
        run: () => ({ ...nothingSpent, input_tokens: 6 * attempts() }),
      }),
    }),
  );
  expect(ending).toMatchObject({
    ok: false,
    reason: expect.stringMatching(/^max_tokens: the run has spent 12/),
  });
  expect(made).toHaveLength(2);
});

test('no wait between attempts is longer than what is left of the time', async () => {
  const waits: number[] = [];
  const { ending } = await ended(
    'a [shape=parallelogram, max_retries=1, retry_delay="10s", max_wall="2s"]; b [shape=parallelogram]',
    (attempts) => (attempts === 1 ? again : succeeded()),
    ({ clock }) => ({ clock: { ...clock, sleep: async (ms) => void waits.push(ms) } }),
  );
  expect(ending.ok).toBe(true);
  expect(waits).toEqual([2000]);
});

test('the time of a visit that was cut counts for the next one of its node, and for no other node', async () => {
  const { ending, state, made } = await ended(
    'a [shape=parallelogram, max_wall="400ms"]; b [shape=parallelogram, max_wall="250ms"]',
    () => succeeded(),
    (ready) => ({ state: { ...ready.state, cut_ms: 300 } }),
  );
  expect(ending).toMatchObject({ ok: true });
  expect(made).toEqual([
    { node: 'a', ms: 100 },
    { node: 'b', ms: 250 },
  ]);
  expect(state.node_ms).toEqual({ a: 300 });
  expect(state).not.toHaveProperty('cut_ms');
});
