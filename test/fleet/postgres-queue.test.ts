/** The queue in PostgreSQL, on a server that the tests start. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Refusal } from '../../src/core/diagnostic.ts';
import type { Job, QueuedJob } from '../../src/core/records/job.ts';
import { migrateDatabase } from '../../src/fleet/postgres-migration.ts';
import { openPostgresQueue } from '../../src/fleet/postgres-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { folderWithBoss, postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';

const here = postgresForTests();

const job = (run_id: string, more: Partial<Job> = {}): Job => ({
  schema_version: 1,
  run_id,
  title: run_id,
  priority: 0,
  submitted_at: '2026-01-01T00:00:00.000Z',
  submitted_by: 'test',
  labels: [],
  request: { cwd: '/', run: ['p.dot'], resume: [] },
  ...more,
});
const free = { most: 1, mostOfLabel: {}, leaves: new Set<string>() };

describe.skipIf(here.skipped !== '')(`a queue in PostgreSQL${here.skipped}`, () => {
  let server: TestServer;
  const folders: string[] = [];
  const open: JobQueue[] = [];
  let databases = 0;

  beforeAll(async () => {
    if (here.skipped === '') server = await startPostgres(here.programs);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  async function place(migrate = true) {
    const cwd = folderWithBoss(here.boss);
    folders.push(cwd);
    const database = `q${databases++}`;
    const url = server.url(database);
    if (migrate) await migrateDatabase(url, { cwd, clock: realClock });
    const tryOpen = (to = url, worker?: string, runs = '.factory/runs') =>
      openPostgresQueue(join(cwd, runs), to, { cwd, clock: realClock, worker });
    const queue = async (worker?: string): Promise<JobQueue> => {
      const made = await tryOpen(url, worker);
      if ('problems' in made) throw new Error(made.problems[0]?.message);
      open.push(made);
      return made;
    };
    const sql = (statement: string) => server.sql(database, statement);
    return { cwd, url, queue, tryOpen, sql };
  }
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  const refusalOf = (made: JobQueue | Refusal): string =>
    'problems' in made ? JSON.stringify(made.problems) : 'opened';
  const ids = (jobs: readonly QueuedJob[]) => jobs.map(({ job: { run_id } }) => run_id);
  const all = (...given: readonly Job[]) => given.map((one) => ({ job: one, target: 'now' as const }));

  test('jobs are claimed by priority, then time of submission, then run id; one that was put back keeps its place', async () => {
    const { queue } = await place();
    const worker = await queue('w');
    const early = { submitted_at: '2025-12-31T00:00:00.000Z' };
    await worker.submit(all(job('c'), job('b'), job('urgent', { priority: 5 }), job('a')));
    await worker.submit(all(job('z', early)));
    expect(ids(await worker.list())).toEqual(['urgent', 'z', 'a', 'b', 'c']);
    expect(ids(await worker.claim({ ...free, most: 3 }))).toEqual(['urgent', 'z', 'a']);
    await worker.delay(job('a'), 'now');
    await worker.delay(job('z', early), 'held');
    expect((await worker.list()).map(({ job: { run_id }, state }) => `${run_id} ${state}`)).toEqual([
      ...['urgent running', 'a waiting', 'b waiting', 'c waiting', 'z held'],
    ]);
    await worker.finish('urgent');
    await worker.finish('urgent');
    expect(ids(await worker.claim({ ...free, most: 9 }))).toEqual(['a', 'b', 'c']);
  });

  test('a job that was put back after another worker had taken it over is not doubled', async () => {
    const { queue, sql } = await place();
    const [first, second] = [await queue('first'), await queue('second')];
    await first.submit(all(job('a'), job('b')));
    await first.claim({ ...free, most: 2 });
    sql("UPDATE factory.job SET heartbeat_on = now() - interval '11 s' WHERE singleton_key = 'a'");
    const until = Date.now() + 30_000;
    let taken: readonly (QueuedJob & { readonly from: string })[] = [];
    while (taken.length === 0 && Date.now() < until) {
      await first.extend(['b']);
      taken = await second.takeOver({ ...free, most: 2 });
      await wait(500);
    }
    expect(taken).toMatchObject([{ from: 'first', worker: 'second', job: { run_id: 'a', taken_over: 1 } }]);
    expect(await first.extend(['a', 'b'])).toEqual(['a']);
    await first.delay(job('a'), 'now');
    await first.finish('a');
    expect(ids(await second.list())).toEqual(['a', 'b']);
    expect(await second.get('a')).toMatchObject({ state: 'running', worker: 'second' });
    await second.finish('a');
    expect(ids(await second.list())).toEqual(['b']);
  });

  test('no label has more jobs than its cap, whoever claims at the same time, and foreign labels are left', async () => {
    const { queue } = await place();
    const workers = await Promise.all(Array.from({ length: 8 }, (_, n) => queue(`w${n}`)));
    const many = Array.from({ length: 40 }, (_, n) =>
      job(`g${n}`, { labels: n % 2 ? ['gpu'] : ['gpu', 'x'] }),
    );
    await workers[0]?.submit(all(...many, ...Array.from({ length: 4 }, (_, n) => job(`p${n}`))));
    const request = { most: 3, mostOfLabel: { gpu: 2 }, leaves: new Set(['p3']), labels: ['gpu'] };
    const taken = (await Promise.all(workers.map((one) => one.claim(request)))).flat();
    const labelled = taken.filter(({ job: { labels } }) => labels.includes('gpu'));
    expect(labelled.map(({ job: { labels } }) => labels)).toEqual([['gpu'], ['gpu']]);
    expect(
      ids(taken)
        .filter((id) => id.startsWith('p'))
        .sort(),
    ).toEqual(['p0', 'p1', 'p2']);
  });

  test('what was wrong with the database is said without its password, before anything is queued', async () => {
    const { url, tryOpen, queue, cwd } = await place();
    const other = (from: string | RegExp, to: string) => tryOpen(url.replace(from, to)).then(refusalOf);
    const cases = await Promise.all([
      other('correct', 'wrong'),
      other(/q\d+$/, 'missing'),
      other(/:\d+\/q/, ':1/q'),
      other('127.0.0.1', 'nowhere.invalid'),
      other(/$/, '?sslmode=require'),
      other(/:[^:@]*@/, '@'),
      other(/$/, '?schema=other'),
    ]);
    expect(cases.map((text) => /"message":"([^"]*)/.exec(text.replaceAll('\\"', "'"))?.[1])).toEqual([
      expect.stringContaining('refuses the user factory: wrong user or password'),
      expect.stringContaining("the server has no database 'missing'"),
      expect.stringContaining('no server listens on 127.0.0.1, port 1'),
      expect.stringContaining('the host nowhere.invalid is not known'),
      expect.stringContaining('the server does not offer TLS'),
      expect.stringContaining('the server asks for a password'),
      expect.stringContaining("no tables in its schema 'other'"),
    ]);
    expect(cases.join()).not.toContain('horse');
    await (await queue()).submit(all(job('a')));
    expect(refusalOf(await tryOpen(url, undefined, 'elsewhere'))).toContain(
      'belongs to another runs directory',
    );
    expect(readFileSync(join(cwd, '.factory/runs/queue/database.json'), 'utf8')).not.toMatch(/horse|"user/);
  });

  test('only a migration makes tables; those of another release are refused', async () => {
    const { tryOpen, url, sql, cwd } = await place(false);
    const migrate = () => migrateDatabase(url, { cwd, clock: realClock });
    expect(refusalOf(await tryOpen())).toContain('factory queue --migrate');
    const [first, again] = [await migrate(), await migrate()];
    expect(first).toMatchObject({ from: undefined });
    expect(again).toMatchObject({ from: (first as { readonly to: number }).to });
    sql('UPDATE factory.version SET version = version - 1');
    expect(refusalOf(await tryOpen())).toContain('tables of an older release');
    sql('UPDATE factory.version SET version = version + 2');
    expect(refusalOf(await tryOpen())).toContain('tables of a newer release');
    expect(await migrate()).toMatchObject({
      problems: [{ fix: expect.stringContaining('upgrade factory') }],
    });
  });
});
