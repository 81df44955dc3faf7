/** The second run of a failed scenario: its input, and which of its output stays. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failed, type Outcome, succeeded } from '../../../src/core/outcome.ts';
import { layout } from '../../../src/core/records/layout.ts';
import type { Execute } from '../../../src/engine/layers/layer.ts';
import { rerun } from '../../../src/engine/layers/rerun.ts';
import { openSnapshots } from '../../../src/workspace/snapshots.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const attribution = { class: 'product', how: 'default', why: 'exit code 1' } as const;
const first = failed('tool_exit_code_1', 'product', { exitCode: 1, attribution, judge: true });

/** Ends a judge with `outcome` after `tookMs` of the five seconds that the run has left, with `again` as its second run. */
async function judged(
  dir: string,
  tookMs: number,
  again: Execute,
  outcome: Outcome = first,
  attributes = 'shape=parallelogram, judge=true',
) {
  const at = layout(dir);
  const index = join(dir, 'index');
  let now = 0;
  const clock = { now: () => new Date(0), monotonic: () => now, sleep: async () => {} };
  const historyEnv = { GIT_DIR: 'there', GIT_INDEX_FILE: index, GIT_WORK_TREE: at.workspace };
  const it = await rig(dir, attributes, { run: { historyEnv, clock } });
  writeFileSync(index, 'staged');
  const snapshots = await openSnapshots({ workspace: at.workspace, dir: at.contents, sync: false });
  const before = await snapshots.take();
  const timeout = { ms: 60_000, explicit: true, runLeftMs: 5000 };
  const context = it.context.with({ snapshots, before, attempt: { ...it.context.attempt, timeout } });
  const executed = await rerun(again)(async () => {
    now += tookMs;
    return { outcome, snapshot: before };
  })(context);
  await it.close();
  return { outcome: executed.outcome, events: it.events };
}

test('has what the first run has left of the time, and none where that is nothing', async () => {
  await using it = await temp();
  const times: number[] = [];
  const passes: Execute = async ({ attempt, before }) => {
    times.push(attempt.timeout.ms);
    return { outcome: succeeded(), snapshot: before };
  };
  const flaky = await judged(it.dir, 3000, passes);
  expect(flaky.outcome).toMatchObject({ class: 'scenario', rerun: { result: 'passed' } });
  expect(flaky.events).toMatchObject([{ type: 'ScenarioRerun', node_id: 'a', result: 'passed' }]);
  await using other = await temp();
  expect((await judged(other.dir, 5000, passes)).outcome).toBe(first);
  expect(times).toEqual([2000]);
});

test('uses git with a separate index, and reports the output of the command that failed', async () => {
  await using it = await temp();
  const { outcome } = await judged(it.dir, 0, async ({ run, files, workspace, before }) => {
    const { GIT_INDEX_FILE: index = '', ...more } = run.historyEnv;
    expect(more).toEqual({ GIT_DIR: 'there', GIT_WORK_TREE: workspace.path });
    expect(workspace.path).not.toBe(layout(it.dir).workspace);
    expect(readFileSync(index, 'utf8')).toBe('staged');
    writeFileSync(index, 'by the second run');
    for (const n of [0, 2, 10]) writeFileSync(join(files.path, `verification.${n}.stdout.txt`), `${n}\n`);
    return { outcome: first, snapshot: before };
  });
  expect(outcome).toMatchObject({ class: 'product', rerun: { result: 'alike', exit_code: 1 } });
  expect(readFileSync(join(it.dir, 'index'), 'utf8')).toBe('staged');
  expect(readFileSync(join(layout(it.dir).node('a'), 'rerun.stdout.txt'), 'utf8')).toBe('10\n');
});

const never: Execute = () => Promise.reject(new Error('must not run again'));

test.for<[string, Outcome, string?]>([
  ['a success', succeeded()],
  ['a failure that is not the product’s', failed('x', 'infra', { attribution, judge: true })],
  ['a failure of no scenario', failed('x', 'product', { attribution })],
  ['a node that must not run twice', first, 'shape=parallelogram, judge=true, access=run'],
  ['a node with judge and rerun', first, 'shape=parallelogram, judge=true, rerun=false'],
])('%s is not run again', async ([, outcome, attributes]) => {
  await using it = await temp();
  expect((await judged(it.dir, 0, never, outcome, attributes)).outcome).toBe(outcome);
});

test('the first outcome stays where the copy cannot be used, except on a disk error', async () => {
  await using it = await temp();
  const broken = (code: string): Execute => {
    const error = Object.assign(new Error(code), { code });
    return async ({ before }) => ({ outcome: failed('x', 'infra'), snapshot: before, error });
  };
  expect((await judged(it.dir, 0, broken('ENOTDIR'))).outcome).toBe(first);
  await expect(judged(it.dir, 0, broken('ENOSPC'))).rejects.toThrow('ENOSPC');
});
