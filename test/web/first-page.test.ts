/** The first page of many runs, asked for while the server reads them for the first time. */
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunList } from '../../src/app/answers.ts';
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import { runsApi } from '../../src/web/api/runs.ts';
import { openServedRuns } from '../../src/web/served-runs.ts';
import type { Web } from '../../src/web/web.ts';
import { handClock } from '../support/clock.ts';
import { madeRow } from '../support/run-row.ts';

const names = Array.from({ length: 300 }, (_, at) => `r${String(at).padStart(3, '0')}`);
const startOf = (at: number): Date => new Date(Date.UTC(2026, 0, 1) + at * 1000);

/** 300 runs, started in the order of their names, of which the oldest cannot be read before `release`. */
function served() {
  const runsDir = mkdtempSync(join(tmpdir(), 'factory-page-'));
  const stop = new AbortController();
  const rows = new Map<string, RunRow>();
  for (const [at, run_id] of names.entries()) {
    rows.set(run_id, madeRow({ run_id, started_at: startOf(at).toISOString(), needs_attention: false }));
    mkdirSync(join(runsDir, run_id));
    writeFileSync(join(runsDir, run_id, 'manifest.json'), '');
    utimesSync(join(runsDir, run_id, 'manifest.json'), startOf(at), startOf(at));
  }
  let release = (): void => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  const row = async (name: string) => {
    if (name === 'r000') await released;
    return rows.get(name);
  };
  const clock = handClock(0);
  const runs = openServedRuns(
    { clock, runsDir, cwd: runsDir, closing: stop.signal, readOnly: false },
    { row },
  );
  const web = {
    ...{ runs, runsDir, every: () => () => {}, closing: stop.signal, streams: { count: 0 } },
  } as unknown as Web;
  const ask = (query: object) => ({ web, query, request: new Request('http://list') });
  return {
    ...{ rows, runs, clock, release },
    page: (query: object) =>
      runsApi.runs(
        ask({ only: 'all', q: '', ...query }) as Parameters<typeof runsApi.runs>[0],
      ) as Promise<RunList>,
    stream: async (limit: number) => {
      const asked = ask({ limit }) as Parameters<typeof runsApi.runsStream>[0];
      const answer = (await runsApi.runsStream(asked)) as Response;
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
      return async () => {
        let text = '';
        while (!/event: .*\n\n$/s.test(text)) text += (await reader?.read())?.value ?? '';
        return text.slice(text.indexOf('event: '));
      };
    },
    [Symbol.dispose]() {
      stop.abort();
      rmSync(runsDir, { recursive: true });
    },
  };
}

const idsOf = ({ runs }: RunList): readonly string[] => runs.map(({ run_id }) => run_id);
const newest = names.toReversed();

test('the first page is answered before older runs are read, and no run is missing from the pages after it', async () => {
  using list = served();
  const first = await list.page({ limit: 100 });
  expect(idsOf(first)).toEqual(newest.slice(0, 100));
  expect(first.counts).toMatchObject({ all: 300, complete: false });
  const [next, filtered] = [
    list.page({ limit: 250, after: first.after }),
    list.page({ limit: 1, only: 'completed' }),
  ];
  list.release();
  expect(idsOf(await next)).toEqual(newest.slice(0, 250));
  expect((await filtered).counts).not.toHaveProperty('complete');
  const last = await list.page({ limit: 250, after: (await next).after });
  expect(idsOf(last)).toEqual(newest.slice(250));
  expect(last).toMatchObject({ after: null, counts: { all: 300 } });
});

test('a stream begins with the newest runs, and then has what has changed in them while the others were read', async () => {
  using list = served();
  const next = await list.stream(100);
  const first = await next();
  expect(first).toContain('"complete":false');
  expect(first).toContain('"run_id":"r299"');
  list.rows.set(
    'r299',
    madeRow({ run_id: 'r299', title: 'changed', started_at: startOf(299).toISOString() }),
  );
  await list.runs.row('r299');
  list.release();
  const change = await next();
  expect(change).toContain('"title":"changed"');
  expect(change.match(/event: run\n/g)).toHaveLength(1);
});
