/** Attempts at one node: what each is handed, and what all of them together answer. */
import { existsSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { failed, type Outcome, succeeded } from '../../../src/core/outcome.ts';
import { nodeLayout } from '../../../src/core/records/layout.ts';
import { type Executed, type LayerContext, LimitReached } from '../../../src/engine/layers/layer.ts';
import { retry } from '../../../src/engine/layers/retry.ts';
import { temp } from '../../platform/temp.ts';
import { rig, tree } from './rig.ts';

const again: Outcome = { ...succeeded(), status: 'retry', reason: 'not yet' };

/** Executes a node whose attempts end with these outcomes, each with one more file in the workspace. */
async function attempted(
  dir: string,
  attributes: string,
  outcomes: readonly Outcome[],
  more: Partial<Executed> = {},
  seen: (context: LayerContext) => void = () => {},
) {
  const waits: number[] = [];
  const clock = {
    now: () => new Date(0),
    monotonic: () => 0,
    sleep: async (ms: number) => void waits.push(ms),
  };
  const node = await rig(dir, attributes, { run: { clock } });
  const attempts: LayerContext[] = [];
  const ended = node.through(retry, async (context) => {
    seen(context);
    attempts.push(context);
    const outcome = outcomes[attempts.length - 1];
    if (outcome === undefined) throw new Error('one attempt too many');
    return { outcome, snapshot: tree({ [`${attempts.length}`]: 'x' }), ...more };
  });
  const result = await ended.catch((error: unknown) => error as Error);
  await node.close();
  return { result, attempts, waits, events: node.events };
}

test('each attempt gets the workspace and the reason of the one before, and the counts are of all', async () => {
  await using it = await temp();
  const usage = { model: 'm', input_tokens: 1, output_tokens: 2, cost_usd: 3 };
  const { result, attempts, waits, events } = await attempted(
    it.dir,
    'shape=box, max_retries=2, retry_delay="10ms", retry_backoff=2',
    [again, again, succeeded()],
    { usage },
  );
  expect(result).toMatchObject({
    outcome: { status: 'success' },
    snapshot: { id: tree({ 3: 'x' }).id },
    counts: { retries: 2, calls: 3 },
    context: { 'internal.retry_count.a': 2 },
    usage: { input_tokens: 3, output_tokens: 6, cost_usd: 9 },
  });
  expect(
    attempts.map(({ attempt: { number, call, repeats }, before }) => [number, call, repeats, before.id]),
  ).toEqual([
    [1, 1, undefined, 's0'],
    [2, 2, 'not yet', tree({ 1: 'x' }).id],
    [3, 3, 'not yet', tree({ 2: 'x' }).id],
  ]);
  expect(waits).toEqual([10, 20]);
  expect(events.map(({ type }) => type)).toEqual(['StageRetrying', 'StageRetrying']);
});

test('an attempt never finds what the one before has answered', async () => {
  await using it = await temp();
  const found: boolean[] = [];
  await attempted(it.dir, 'shape=parallelogram, max_retries=1', [again, succeeded()], {}, ({ nodeDir }) => {
    const { output } = nodeLayout(nodeDir);
    found.push(existsSync(output));
    writeFileSync(output, '{}');
  });
  expect(found).toEqual([false, false]);
});

test.for<[string, string, readonly Outcome[], object]>([
  ['without attempts left a retry fails', '', [again], { status: 'fail', reason: 'not yet' }],
  ['or is a partial success', ', allow_partial=true', [again], { status: 'partial_success' }],
  ['a failure is final', ', max_retries=1', [failed('no', 'product')], { status: 'fail', reason: 'no' }],
  [
    'unless the node asks for more',
    ', max_retries=1, retry_on=fail',
    [failed('no', 'product'), succeeded()],
    { status: 'success' },
  ],
])('%s', async ([, attributes, outcomes, outcome]) => {
  await using it = await temp();
  const { result } = await attempted(it.dir, `shape=parallelogram${attributes}`, outcomes);
  expect(result).toMatchObject({ outcome });
});

test('an attempt that was cut by the limit of its node ends the run', async () => {
  await using it = await temp();
  let now = 0;
  const clock = { now: () => new Date(0), monotonic: () => now, sleep: async () => {} };
  const node = await rig(it.dir, 'shape=parallelogram, max_wall="1s"', { run: { clock } });
  const ended = node.through(retry, async ({ before }) => {
    now = 1000;
    return { outcome: failed('timeout', 'timeout'), snapshot: before };
  });
  await expect(ended).rejects.toThrow(LimitReached);
  await node.close();
});

test('a cancelled attempt is the last one', async () => {
  await using it = await temp();
  const stop = new AbortController();
  const node = await rig(it.dir, 'shape=parallelogram, max_retries=3', { signal: stop.signal });
  const { outcome } = await node.through(retry, async ({ before }) => {
    stop.abort('SIGINT');
    return { outcome: again, snapshot: before };
  });
  expect(outcome).toBe(again);
  await node.close();
});
