/** Verbs that act on runs know the queue: what has not begun, and what a worker continues. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readActs } from '../../src/app/acts.ts';
import { answerAndResume } from '../../src/app/answer-and-resume.ts';
import type { Job, JobReason } from '../../src/core/records/job.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { cleanEnv } from '../support/cli.ts';
import { house } from '../support/house.ts';
import { call, type Flags } from '../support/verb.ts';

const gates = `digraph g {
  graph [label="Release", workdir="none"]
  start [shape=Mdiamond] exit [shape=Msquare]
  gate [shape=hexagon, prompt="Ship it?"]
  start -> gate
  gate -> exit [label="[A] Approve"]
}`;

/** A folder whose run `r` asks a question, and has a job that is held for the reason. */
async function asking(kind: JobReason, detach = false) {
  const place = await house({ 'p.dot': gates });
  const env = cleanEnv({ HOME: place.path });
  const factory = (words: readonly string[], flags: Flags = {}) =>
    call(words, flags, { cwd: place.path, env });
  const ran = await factory(['run', 'p.dot'], { runId: 'r', detach });
  expect((detach ? await factory(['wait', 'r']) : ran).code).toBe(75);
  const runsDir = join(place.path, '.factory/runs');
  const queue = await openQueue(runsDir, { clock: realClock, env });
  if ('problems' in queue) throw new Error('no queue');
  const job = (run_id: string): Job => ({
    ...{ schema_version: 1, run_id, title: `The ${run_id}`, priority: 0, labels: [], submitted_by: 'ada' },
    ...{ submitted_at: '2026-03-01T12:00:00.000Z', request: { cwd: place.path, run: ['p.dot'], resume: [] } },
  });
  const reason = { kind, text: `because of ${kind}`, at: '2026-03-01T12:00:00.000Z' };
  await queue.submit([
    { job: { ...job('r'), reason }, target: 'held' },
    { job: job('later-one'), target: { dueAt: '2099-01-01T00:00:00.000Z' } },
  ]);
  return { ...place, factory, env, runsDir, dir: join(runsDir, 'r'), queue };
}

test('the answer to a queued run makes it due, and starts no process', async () => {
  await using it = await asking('question');
  const done = await it.factory(['answer', 'r', '--choice', 'A', '--json']);
  expect(JSON.parse(done.out)).toMatchObject({ resumed: 'queued', pid: null, next: 'factory queue' });
  expect(await it.queue.get('r')).toMatchObject({ state: 'waiting' });
  expect((await it.queue.get('r'))?.job.reason).toBeUndefined();
});

test('an answer from the API does the same; without a resume the job stays where it is', async () => {
  await using it = await asking('question');
  const { clock, start } = { clock: realClock, start: () => Promise.reject(new Error('a process')) };
  const host = { cwd: it.path, env: it.env, clock };
  const kept = await it.factory(['answer', 'r', '--choice', 'A', '--no-resume']);
  expect(kept.out).toContain('the answer is kept');
  expect(await it.queue.get('r')).toMatchObject({ state: 'held' });
  await using other = await asking('attention');
  const request = { choice: 'A', by: 'ada', from: 'api' } as const;
  const done = await answerAndResume(other.dir, request, { ...host, env: other.env, cwd: other.path, start });
  expect(done).toMatchObject({ resumed: 'queued' });
});

test('a job that a person has put on hold stays on hold when its question is answered', async () => {
  await using it = await asking('person');
  const done = await it.factory(['answer', 'r', '--choice', 'A']);
  expect(done.out).toContain('the answer is kept; the run is not resumed: because of person');
  expect(await it.queue.get('r')).toMatchObject({ state: 'held' });
});

test('runs, show and why know of a run that has not begun', async () => {
  await using it = await asking('question');
  const runs = await it.factory(['runs']);
  expect(runs.out.trimEnd().split('\n').at(-1)).toBe('1 is queued and has not begun: factory queue');
  expect(JSON.parse((await it.factory(['runs'], { json: true })).out)).toMatchObject({ queued: 1 });
  for (const verb of ['show', 'why']) {
    const shown = await it.factory([verb, 'later']);
    expect([shown.code, shown.out], verb).toEqual([
      0,
      expect.stringMatching(
        /^run later-one \(The later-one\) is queued and has not begun: it sleeps until 2099/,
      ),
    ]);
    const json = JSON.parse((await it.factory([verb, 'later'], { json: true })).out);
    expect(json).toMatchObject({ run_id: 'later-one', status: 'queued', job: { state: 'later' } });
  }
  expect(await it.factory(['logs', 'later-one'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('run later-one is queued and has not begun (later)'),
  });
  expect((await it.factory(['show', 'other'])).err).toContain('there is no run "other"');
});

test('a queued run is neither removed nor pruned', async () => {
  await using it = await asking('attention');
  expect(await it.factory(['rm', 'r', '--force'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/run r is in the queue \(held\)[\s\S]*factory queue drop r/),
  });
  expect((await it.factory(['prune'], { keep: 0 })).out).toContain('kept r: it is in the queue');
  const dropped = await it.factory(['queue', 'drop', 'r']);
  expect(dropped.out).toContain('run r (The r) has left the queue\n  its run stays: factory show r');
  expect(readActs(it.dir).at(-1)).toMatchObject({ what: 'queue', change: 'drop' });
  expect((await it.factory(['rm', 'r'])).err).not.toContain('in the queue');
});

test('stop says that a worker continues a run which does not run now, unless its job is held', async () => {
  // Another process had the run: this one lives.
  await using it = await asking('question', true);
  const held = await it.factory(['stop', 'r']);
  expect(held).toMatchObject({ code: 0, err: '' });
  await it.queue.change('r', { target: { dueAt: '2099-01-01T00:00:00.000Z' } });
  const later = await it.factory(['stop', 'r']);
  expect(later).toMatchObject({ code: 0, out: expect.stringContaining('run r is not running') });
  expect(later.err).toBe(
    'warning: a worker continues the run at 2099-01-01T00:00:00.000Z; to keep it from that: factory queue hold r\n',
  );
  await it.queue.change('r', { target: 'now' });
  expect((await it.factory(['stop', 'r'])).err).toContain('a worker continues the run soon');
  expect(readActs(it.dir).some(({ what }) => what === 'stop')).toBe(false);
  expect(await it.factory(['stop', 'later-one'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('run later-one is queued and has not begun (later)'),
  });
});
