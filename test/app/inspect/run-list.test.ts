/** The list of runs: which rows are read again, and its pages. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openRowReader } from '../../../src/app/inspect/rows.ts';
import { openRunList } from '../../../src/app/inspect/run-list.ts';
import { newestFirst, runPage } from '../../../src/app/inspect/run-pages.ts';
import { layout } from '../../../src/core/records/layout.ts';
import { handClock } from '../../support/clock.ts';
import { house } from '../../support/house.ts';
import { madeRow } from '../../support/run-row.ts';

const pipeline = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="echo one"]; start -> a -> exit }`;

/** A run that this process executes, as it would look in the middle of it, and a list that counts what it reads. */
async function running() {
  const it = await house({ 'p.dot': pipeline });
  it.environment({ ATTRACTION_TEST_STOP_AFTER_NODE: 'a' });
  await it.run('p.dot', { runId: 'one', quiet: true });
  const runsDir = join(it.path, '.factory/runs');
  const clock = handClock();
  const host = { cwd: it.path, clock };
  const read = openRowReader(host);
  const reads: string[] = [];
  const list = openRunList(runsDir, host, (name, dir) => {
    reads.push(name);
    return read(name, dir);
  });
  const { locks, events } = layout(join(runsDir, 'one'));
  const [file = ''] = readdirSync(locks).filter((name) => name.endsWith('.json'));
  const lock = join(locks, file);
  const owner = JSON.parse(readFileSync(lock, 'utf8'));
  writeFileSync(lock, JSON.stringify({ ...owner, released: null }));
  return { it, list, reads, clock, lock, events };
}

test('the row of a run that runs is read again when a file of it changes, and its time grows meanwhile', async () => {
  const { it, list, reads, clock, lock, events } = await running();
  await using _ = it;
  const first = await list.row('one');
  expect(first).toMatchObject({ status: 'running', run_id: 'one' });
  clock.advance(5000);
  expect(await list.row('one')).toEqual({ ...first, elapsed_ms: (first?.elapsed_ms ?? 0) + 5000 });
  expect(reads).toHaveLength(1);
  const wait = { type: 'StageRetrying', at: clock.now().toISOString(), node_id: 'b', delay_ms: 3000 };
  writeFileSync(events, `${readFileSync(events, 'utf8')}${JSON.stringify({ ...wait, attempt: 2 })}\n`);
  expect((await list.row('one'))?.headline).toContain('waiting for a retry');
  await list.row('one');
  expect(reads).toHaveLength(2);
  clock.advance(3001);
  expect((await list.row('one'))?.headline).not.toContain('waiting');
  await list.row('one');
  expect(reads).toHaveLength(3);
  // The engine is killed: no file changes. A process with that id and another start has nothing to do with the run.
  const killed = { ...JSON.parse(readFileSync(lock, 'utf8')), start_time: '1' };
  writeFileSync(lock, JSON.stringify(killed));
  expect((await list.row('one'))?.status).toBe('failed');
  await list.row('one');
  expect(reads).toHaveLength(4);
  rmSync(join(it.path, '.factory/runs/one'), { recursive: true });
  expect(await list.row('one')).toBeUndefined();
});

const rows = fc.uniqueArray(fc.record({ id: fc.stringMatching(/^[0-9a-f]{1,3}$/), day: fc.nat(3) }), {
  selector: ({ id }) => id,
  maxLength: 30,
});

test('pages have every run once, newest first, also when runs are made and removed between them', () => {
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 7 }), fc.nat(29), (made, limit, gone) => {
      let all = made
        .map(({ id, day }) => madeRow({ run_id: id, started_at: day === 0 ? '' : `2026-01-0${day}` }))
        .sort(newestFirst);
      const seen: string[] = [];
      let after: string | undefined;
      for (;;) {
        const ask = { only: 'all', q: '', limit, ...(after === undefined ? {} : { after }) } as const;
        const page = runPage('/runs', all, ask);
        expect(page.counts.all).toBe(all.length);
        seen.push(...page.runs.map(({ run_id }) => run_id));
        if (page.after == null) break;
        after = page.after;
        // The row at the mark is removed, and a newer one comes.
        const removed = page.runs.at(-1);
        if (gone % 2 === 0) all = all.filter((row) => row !== removed);
        all = [madeRow({ run_id: `n${seen.length}`, started_at: '2030' }), ...all];
      }
      const expected = made
        .map(({ id, day }) => madeRow({ run_id: id, started_at: day === 0 ? '' : `2026-01-0${day}` }))
        .sort(newestFirst)
        .map(({ run_id }) => run_id);
      expect(seen).toEqual(expected);
    }),
  );
});

test('a page of what a filter and a search leave has the counts of all, and how many were found', () => {
  const all = [
    madeRow({ run_id: 'c', started_at: '3', status: 'failed', needs_attention: true, title: 'parser' }),
    madeRow({ run_id: 'b', started_at: '2', status: 'paused_wait' }),
    madeRow({ run_id: 'a', started_at: '1', status: 'failed', needs_attention: true, title: 'docs' }),
  ];
  const ids = (page: ReturnType<typeof runPage>) => page.runs.map(({ run_id }) => run_id).join('');
  const counts = { all: 3, needs_attention: 2, by_status: { failed: 2, paused_wait: 1 } };
  const first = runPage('/runs', all, { only: 'attention', q: '', limit: 1 });
  expect([ids(first), first.counts, first.found, first.after]).toEqual(['c', counts, 2, '3~c']);
  const second = runPage('/runs', all, { only: 'attention', q: '', limit: 1, after: '3~c' });
  expect([ids(second), second.found, second.after]).toEqual(['a', 2, null]);
  expect(ids(runPage('/runs', all, { only: 'failed', q: 'DOCS' }))).toBe('a');
  const whole = runPage('/runs', all, { only: 'all', q: '' });
  expect([ids(whole), 'found' in whole, 'after' in whole]).toEqual(['bca', false, false]);
});
