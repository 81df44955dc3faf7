/** Runs that are dismissed from those that need attention, and runs with names. */
import { expect, test } from 'vitest';
import { recordAct } from '../../src/app/acts.ts';
import { attentionOf } from '../../src/app/inspect/attention.ts';
import { temp } from '../platform/temp.ts';
import { house } from '../support/house.ts';

const dot = `digraph t { workdir="none"
  start [shape=Mdiamond]; work [shape=parallelogram, tool_command="exit 1"]; done [shape=Msquare]
  start -> work; work -> done [condition="outcome=success"] }`;

test('a failed run is dismissed until something happens to it, and its name is its title', async () => {
  await using it = await house({ 'p.dot': dot });
  await it.run('p.dot', { runId: 'r1', quiet: true, name: 'nightly build' });
  expect(it.json('.factory/runs/r1/manifest.json').name).toBe('nightly build');
  const listed = async () => JSON.parse((await it.runs({ json: true })).out).runs[0];
  expect(await listed()).toMatchObject({ title: 'nightly build', needs_attention: true });
  expect((await listed()).acts).toContain('dismiss');
  const { dismissRun } = await import('../../src/app/dismiss-run.ts');
  const host = { cwd: it.path, clock: { now: () => new Date('2100-01-01') } } as never;
  const dir = `${it.path}/.factory/runs/r1`;
  expect(await dismissRun(dir, 'ada', host)).toMatchObject({ status: 'failed', already: false });
  expect(await dismissRun(dir, 'ada', host)).toMatchObject({ already: true });
  expect(await listed()).toMatchObject({ needs_attention: false, dismissed: true });
  recordAct(dir, { who: 'ada', what: 'resume' }, { now: () => new Date('2100-01-02') });
  expect(await listed()).toMatchObject({ needs_attention: true, dismissed: false });
});

test.for<readonly [string, at: string, status: 'failed' | 'crashed', dismissed: boolean]>([
  ['nothing newer', '2026-01-01T00:00:00Z', 'failed', true],
  ['a newer record', '2026-01-01T00:00:02Z', 'failed', false],
  ['another end', '2026-01-01T00:00:00Z', 'crashed', false],
])('a dismissal counts with %s: %s', async ([, at, status, dismissed]) => {
  await using it = await temp();
  const clock = { now: () => new Date('2026-01-01T00:00:01Z') };
  recordAct(it.at(''), { who: 'ada', what: 'dismiss', status: 'failed' }, clock);
  const now = attentionOf({ dir: it.at(''), status, question: null, at });
  expect(now).toEqual({ needs_attention: !dismissed, dismissed });
});
