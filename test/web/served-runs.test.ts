/** The list of runs that all requests of a server share: what it looks at when, counted on a clock that the test moves. */
import { setMaxListeners } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import { runsApi } from '../../src/web/api/runs.ts';
import { openServedRuns } from '../../src/web/served-runs.ts';
import type { Web } from '../../src/web/web.ts';
import { handClock } from '../support/clock.ts';
import { madeRow } from '../support/run-row.ts';

/** A folder with runs whose rows the test sets. */
async function served(names: readonly string[]) {
  const runsDir = mkdtempSync(join(tmpdir(), 'factory-list-'));
  const clock = handClock(0);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const rows = new Map<string, RunRow>();
  const reads: string[] = [];
  let changes = 0;
  const touch = () => utimesSync(runsDir, ++changes, changes);
  const set = (run_id: string, facts: Partial<RunRow> = {}) =>
    rows.set(run_id, madeRow({ run_id, ...facts }));
  const make = (name: string) => {
    mkdirSync(join(runsDir, name));
    touch();
  };
  for (const name of names) {
    set(name);
    make(name);
  }
  const row = async (name: string) => {
    reads.push(name);
    return rows.get(name);
  };
  const host = { clock, runsDir, cwd: runsDir, closing: stop.signal, readOnly: false };
  const runs = openServedRuns(host, { row });
  return {
    ...{ clock, runs, reads, set, make, rows, runsDir },
    remove(name: string) {
      rmSync(join(runsDir, name), { recursive: true });
      rows.delete(name);
      touch();
    },
    /** What is looked at in each of the next seconds. */
    async seconds(count: number): Promise<readonly (readonly string[])[]> {
      const looks: (readonly string[])[] = [];
      for (let at = 0; at < count; at++) {
        reads.length = 0;
        clock.advance(1000);
        await clock.waiting(1);
        looks.push([...reads].sort());
      }
      return looks;
    },
    [Symbol.dispose]() {
      stop.abort();
      rmSync(runsDir, { recursive: true });
    },
  };
}

const thirty = Array.from({ length: 30 }, (_, at) => `r${String(at).padStart(2, '0')}`);

test('each second runs that run are looked at, and a fifteenth of the others; however many watch', async () => {
  using list = await served(thirty);
  list.set('r07', { status: 'running' });
  const watches = [list.runs.watch(), list.runs.watch(), list.runs.watch()];
  await list.clock.waiting(1);
  expect(list.reads).toHaveLength(30);
  const looks = await list.seconds(15);
  for (const look of looks) {
    expect(look).toContain('r07');
    expect(look.length).toBeLessThanOrEqual(3);
  }
  expect([...new Set(looks.flat())].sort()).toEqual(thirty);
  for (const watch of watches) watch.close();
  list.clock.advance(60_000);
  list.reads.length = 0;
  await Promise.resolve();
  expect(list.reads).toEqual([]);
});

test('what changes is noted once for each watch, and looked at closely for fifteen seconds', async () => {
  using list = await served(thirty);
  const [one, other] = [list.runs.watch(), list.runs.watch()];
  await list.clock.waiting(1);
  expect(one.take()).toHaveLength(30);
  other.take();
  await list.seconds(1);
  expect(one.take()).toEqual([]);
  list.set('r29', { status: 'failed' });
  const looks = await list.seconds(15);
  expect([one.take(), other.take(), one.take()]).toEqual([['r29'], ['r29'], []]);
  const seen = looks.findIndex((look) => look.includes('r29'));
  expect(looks.slice(seen).every((look) => look.includes('r29'))).toBe(true);
  const later = await list.seconds(15 + seen);
  expect(later.flat().filter((name) => name === 'r29').length).toBeLessThan(15);
  expect(list.runs.find('r29')?.status).toBe('failed');
});

test('the time that a run has taken is no change', async () => {
  using list = await served(['a']);
  list.set('a', { status: 'running', elapsed_ms: 1 });
  const watch = list.runs.watch();
  await list.clock.waiting(1);
  watch.take();
  list.set('a', { status: 'running', elapsed_ms: 1001 });
  await list.seconds(1);
  expect(watch.take()).toEqual([]);
  expect(list.runs.find('a')?.elapsed_ms).toBe(1001);
});

test('a run that is made, also one whose manifest comes later, and one that is removed are noted in a second', async () => {
  using list = await served(thirty);
  const watch = list.runs.watch();
  await list.clock.waiting(1);
  watch.take();
  list.make('new');
  await list.seconds(3);
  expect(watch.take()).toEqual([]);
  list.set('new');
  await list.seconds(1);
  expect(watch.take()).toEqual(['new']);
  list.remove('r03');
  await list.seconds(1);
  expect(watch.take()).toEqual(['r03']);
  expect(list.runs.find('r03')).toBeUndefined();
  expect(await list.runs.latest()).toHaveLength(30);
});

test('a run of which something was asked is looked at each second', async () => {
  using list = await served(thirty);
  list.runs.watch();
  await list.clock.waiting(1);
  list.runs.expect('r17');
  for (const look of await list.seconds(14)) expect(look).toContain('r17');
});

test('a request for all rows looks at each once, and so do requests at the same time and pages that follow', async () => {
  using list = await served(thirty);
  const [first, second] = await Promise.all([list.runs.rows(), list.runs.rows()]);
  expect(first).toBe(second);
  expect(await list.runs.latest()).toBe(first);
  expect(list.reads).toHaveLength(30);
  list.clock.advance(1000);
  expect(await list.runs.latest()).toBe(first);
  expect(list.reads).toHaveLength(60);
});

test('a directory without runs is looked at until it has one', async () => {
  using list = await served([]);
  rmSync(list.runsDir, { recursive: true });
  const watch = list.runs.watch();
  await list.clock.waiting(1);
  mkdirSync(list.runsDir);
  list.set('first');
  list.make('first');
  await list.seconds(1);
  expect(watch.take()).toEqual(['first']);
});

test('each message is made once for all streams', async () => {
  using list = await served(['a', 'b']);
  let made = 0;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const web = {
    ...{ runs: list.runs, runsDir: list.runsDir, every: () => () => {} },
    ...{ closing: stop.signal, streams: { count: 0 } },
  };
  const counted = (run_id: string, facts: Partial<RunRow>) => {
    list.set(run_id, facts);
    const row = list.rows.get(run_id);
    Object.defineProperty(row, 'toJSON', { value: () => ({ ...row, made: ++made }), enumerable: false });
  };
  const open = async () => {
    const asked = { web: web as unknown as Web, query: {}, request: new Request('http://list') };
    const response = await runsApi.runsStream(asked as Parameters<typeof runsApi.runsStream>[0]);
    return (response as Response).body?.pipeThrough(new TextDecoderStream()).getReader();
  };
  const readers = await Promise.all(Array.from({ length: 20 }, open));
  const next = async () => {
    const texts: string[] = [];
    for (const reader of readers) {
      let text = '';
      while (!text.includes('event: ')) text += (await reader?.read())?.value ?? '';
      texts.push(text.slice(text.indexOf('event: ')));
    }
    return new Set(texts);
  };
  expect((await next()).size).toBe(1);
  for (const status of ['failed', 'completed'] as const) {
    counted('a', { status });
    await list.seconds(1);
    const texts = await next();
    expect(texts.size).toBe(1);
    expect([...texts][0]).toContain(`"made":${made}`);
  }
  expect(made).toBe(2);
  stop.abort();
});
