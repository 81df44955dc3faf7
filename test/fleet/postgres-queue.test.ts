/** The queue in PostgreSQL, on a server that the tests start. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkEnvironment } from '../../src/app/doctor.ts';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Refusal } from '../../src/core/diagnostic.ts';
import type { Job, QueuedJob } from '../../src/core/records/job.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { openWorkerFile, readWorkers } from '../../src/fleet/workers.ts';
import { realClock } from '../../src/platform/clock.ts';
import { livingProcesses } from '../support/living-processes.ts';
import { postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';
import { postgresFleet } from '../support/postgres-fleet.ts';
import { anyJob, keepsTheQueueContract, testJob } from '../support/queue-contract.ts';
import { call } from '../support/verb.ts';

const here = postgresForTests();
const ids = (jobs: readonly QueuedJob[]) => jobs.map(({ job: { run_id } }) => run_id);
const now = (...given: readonly Job[]) => given.map((job) => ({ job, target: 'now' as const }));
const refusalOf = (made: JobQueue | Refusal): string =>
  'problems' in made ? JSON.stringify(made.problems) : 'opened';

describe.skipIf(here.skipped !== '')(`in PostgreSQL${here.skipped}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres(here.programs);
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const fleetHere = (options?: Parameters<typeof postgresFleet>[2]) =>
    postgresFleet(server, here.boss, options);

  keepsTheQueueContract('the queue', fleetHere);

  test('a job that was put back keeps its place in the order of claims', async () => {
    await using fleet = await fleetHere();
    const worker = await fleet.open('w');
    await worker.submit(now(testJob('c'), testJob('b'), testJob('a')));
    expect(ids(await worker.claim(anyJob({ most: 2 })))).toEqual(['a', 'b']);
    await worker.delay(testJob('a'), 'now');
    expect(ids(await worker.claim(anyJob({ most: 9 })))).toEqual(['a', 'c']);
  });

  test('a change that waits for a job to be put back finds it', async () => {
    await using fleet = await fleetHere();
    const [worker, person] = [await fleet.open('w'), await fleet.open('p')];
    await worker.submit(now(testJob('a')));
    for (let round = 0; round < 50; round++) {
      await worker.claim(anyJob({ most: 1 }));
      const [, changed] = await Promise.all([
        worker.delay(testJob('a'), 'now'),
        person.change('a', { priority: 1 }),
      ]);
      expect(changed.kind).not.toBe('none');
      await person.change('a', { priority: 0 });
    }
  });

  test('a worker has three connections, however many of its parts listen', async () => {
    await using fleet = await fleetHere();
    const worker = await fleet.open('w');
    const listeners = () =>
      fleet.sql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%QUEUE%'").trim();
    const ends = [worker.onChange(() => {}), worker.onChange(() => {})];
    for (const until = Date.now() + 10_000; listeners() === '0' && Date.now() < until; await wait(50));
    await wait(200);
    expect(listeners()).toBe('1');
    for (const end of ends) end();
  });

  test('files of workers that have ended are removed', async () => {
    await using fleet = await fleetHere();
    const worker = await fleet.open('w');
    const processes = livingProcesses();
    const facts = { slots: 1, busy: 0, version: '1', draining: false, leaves: {} };
    const [gone, lives] = [processes.self('gone'), processes.self('lives')].map((self) =>
      openWorkerFile(fleet.runsDir, self, realClock),
    );
    for (const file of [gone, lives]) file?.write(facts);
    await processes.kill('gone');
    await worker.takeOver(anyJob({ most: 1 }));
    expect(readWorkers(fleet.runsDir, realClock).map(({ name }) => name)).toEqual([lives?.name]);
    await processes[Symbol.asyncDispose]();
  });

  test('a worker that was silent for too long has lost its jobs, and changes nothing in them', async () => {
    await using fleet = await fleetHere();
    const [slow, other] = [await fleet.open('slow'), await fleet.open('other')];
    await slow.submit(now(testJob('a'), testJob('b')));
    await slow.claim(anyJob({ most: 2 }));
    fleet.sql("UPDATE QUEUE.job SET heartbeat_on = now() - interval '11 s' WHERE singleton_key = 'a'");
    let left: readonly QueuedJob[] = [];
    for (const until = Date.now() + 20_000; left.length === 0 && Date.now() < until; await wait(500)) {
      await slow.extend(['b']);
      left = await other.takeOver(anyJob({ most: 2 }));
    }
    expect(left).toMatchObject([{ from: 'slow', worker: 'other', job: { run_id: 'a', taken_over: 1 } }]);
    expect(await slow.extend(['a', 'b'])).toEqual(['a']);
    await slow.delay(testJob('a'), 'now');
    await slow.finish('a');
    expect(await other.get('a')).toMatchObject({ state: 'running', worker: 'other' });
    await other.finish('a');
    expect(ids(await other.list())).toEqual(['b']);
  });

  test('after 23 hours a job is to be put back', async () => {
    await using fleet = await fleetHere();
    let hours = 0;
    const clock = { ...realClock, monotonic: () => realClock.monotonic() + hours * 3_600_000 };
    const worker = { host: 'h', id: { pid: 1, startTime: '1' }, pidSpace: '' };
    const options = { clock, env: {}, db: fleet.url, cwd: fleet.cwd, worker };
    const queue = await openQueue(fleet.runsDir, options);
    if ('problems' in queue) throw new Error(refusalOf(queue));
    await queue.submit(now(testJob('a')));
    await queue.claim(anyJob());
    hours = 22.9;
    expect(queue.overdue()).toEqual([]);
    hours = 23;
    expect(queue.overdue()).toEqual(['a']);
    await queue.delay(testJob('a'), 'now');
    expect(queue.overdue()).toEqual([]);
    await queue.close();
  });

  test('what is wrong with the database is said without its password, before anything is queued', async () => {
    await using fleet = await fleetHere();
    const other = (from: string | RegExp, to: string) =>
      fleet.tryOpen(fleet.url.replace(from, to)).then(refusalOf);
    const cases = await Promise.all([
      other('correct', 'wrong'),
      other('/postgres?', '/missing?'),
      other(/:\d+\/p/, ':1/p'),
      other('127.0.0.1', 'nowhere.invalid'),
      other(/$/, '&sslmode=require'),
      other(/:[^:@]*@/, '@'),
      other(/schema=.*/, 'schema=other'),
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
  });

  test('a database has the queue of one runs directory, which names it without user and password', async () => {
    await using fleet = await fleetHere();
    const elsewhere = join(fleet.cwd, 'elsewhere');
    expect(refusalOf(await fleet.tryOpen(fleet.url, elsewhere))).toBe('opened');
    await (await fleet.open()).submit(now(testJob('a')));
    expect(refusalOf(await fleet.tryOpen(fleet.url, elsewhere))).toContain(
      `belongs to another runs directory than ${elsewhere}`,
    );
    const record = readFileSync(join(fleet.runsDir, 'queue/database.json'), 'utf8');
    expect(record).not.toMatch(/horse|"user/);
    const without = await openQueue(fleet.runsDir, { clock: realClock, env: {} });
    expect(refusalOf(without)).toContain('set FACTORY_DB to its URL (or pass --db)');
    await using other = await fleetHere();
    expect(refusalOf(await fleet.tryOpen(other.url))).toMatch(
      /the queue of .*runs is in postgres:.*, not in/,
    );
  });

  test('jobs that are files are not left behind for a database', async () => {
    await using fleet = await fleetHere();
    const files = await openQueue(fleet.runsDir, { clock: realClock, env: {} });
    if ('problems' in files) throw new Error(refusalOf(files));
    await files.submit(now(testJob('a')));
    expect(refusalOf(await fleet.tryOpen())).toContain('has jobs as files');
    await files.cancel('a');
    expect(refusalOf(await fleet.tryOpen())).toBe('opened');
    await files.close();
  });

  test('doctor says whether the database works from here, and how many workers it bears', async () => {
    await using fleet = await fleetHere();
    const { cwd, runsDir, url } = fleet;
    const check = async (db?: string) =>
      (await checkEnvironment({ cwd, runsDir, env: {}, db })).find(({ what }) => what === 'queue');
    expect(await check()).toBeUndefined();
    const says = expect.stringMatching(/: PostgreSQL \d+.*, pg-boss .*, connections for \d+ more workers$/);
    expect(await check(url)).toMatchObject({ state: 'good', says });
    expect(await check(url.replace('correct', 'wrong'))).toMatchObject({ state: 'bad' });
    await (await fleet.open()).submit(now(testJob('a')));
    expect(await check()).toMatchObject({ state: 'bad', fix: expect.stringContaining('FACTORY_DB') });
  });

  test('only a migration makes tables; those of another release are refused', async () => {
    await using fleet = await fleetHere({ tables: false });
    expect(refusalOf(await fleet.tryOpen())).toContain('factory queue --migrate');
    const migrate = (env: Readonly<Record<string, string>>) =>
      call(['queue'], { migrate: true }, { cwd: fleet.cwd, env });
    expect((await migrate({})).err).toContain('set FACTORY_DB, or pass --db');
    expect((await migrate({ FACTORY_DB: fleet.url })).out).toContain('created the tables of the queue in');
    expect((await migrate({ FACTORY_DB: fleet.url })).out).toContain('nothing to do');
    fleet.sql('UPDATE QUEUE.version SET version = version - 1');
    expect(refusalOf(await fleet.tryOpen())).toContain('tables of an older release');
    fleet.sql('UPDATE QUEUE.version SET version = version + 2');
    expect(refusalOf(await fleet.tryOpen())).toContain('tables of a newer release');
    expect(await fleet.migrate()).toMatchObject({
      problems: [{ fix: expect.stringContaining('upgrade factory') }],
    });
  });
});
