/** What workers do while the database of their queue is away, and after it. */
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cutProxy } from '../support/cut-proxy.ts';
import { postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';
import { postgresFleet } from '../support/postgres-fleet.ts';
import { anyJob, testJob } from '../support/queue-contract.ts';

const here = postgresForTests();
const jobs = (...names: readonly string[]) =>
  names.map((name) => ({ job: testJob(name), target: 'now' as const }));

describe.skipIf(here.skipped !== '')(`a database that is away${here.skipped}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres(here.programs);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.for(['cut', 'pull'] as const)(
    'by a network that is %s: nothing is claimed or lost, and what a worker reports is repeated until it is there',
    async (how) => {
      await using proxy = await cutProxy(server.port);
      await using fleet = await postgresFleet(server, here.boss, { port: proxy.port });
      const worker = await fleet.open('w');
      await worker.submit(jobs('a', 'b', 'c'));
      await worker.claim(anyJob({ most: 2 }));
      proxy[how]();
      expect(await worker.extend(['a', 'b'])).toEqual([]);
      expect(await worker.claim(anyJob())).toEqual([]);
      expect(await worker.takeOver(anyJob())).toEqual([]);
      let reported = false;
      const report = worker.finish('a').then(() => {
        reported = true;
      });
      await wait(1500);
      expect(reported).toBe(false);
      expect(fleet.warnings).toEqual([expect.stringMatching(/ does not answer \(.*\): runs continue/)]);
      proxy.mend();
      await report;
      expect(await worker.extend(['a', 'b'])).toEqual(['a']);
      expect(fleet.warnings.at(-1)).toMatch(/ answers again, after \d+s$/);
      expect((await worker.list()).map(({ job, state }) => [job.run_id, state])).toEqual([
        ['b', 'running'],
        ['c', 'waiting'],
      ]);
    },
  );

  test('a report that comes after another worker has the job changes nothing', async () => {
    await using proxy = await cutProxy(server.port);
    await using fleet = await postgresFleet(server, here.boss);
    await using far = await fleet.through(proxy.port);
    const [worker, other] = [await far.open('far'), await fleet.open('near')];
    await worker.submit(jobs('a'));
    await worker.claim(anyJob());
    proxy.cut();
    const report = worker.finish('a');
    const noticed = new Promise<void>((resolve) => other.onChange(resolve));
    let left: readonly { readonly from: string }[] = [];
    for (const until = Date.now() + 25_000; left.length === 0 && Date.now() < until; await wait(500))
      left = await other.takeOver(anyJob());
    expect(left).toMatchObject([{ from: 'far' }]);
    await noticed;
    proxy.mend();
    await report;
    expect(await other.get('a')).toMatchObject({ state: 'running', worker: 'near' });
  });

  test('because its server was killed: no living worker loses a job, though no heartbeat came meanwhile', async () => {
    await using fleet = await postgresFleet(server, here.boss);
    const workers = [await fleet.open('v'), await fleet.open('w')];
    await workers[0]?.submit(jobs('a', 'b'));
    for (const worker of workers) await worker.claim(anyJob());
    let changes = 0;
    workers[1]?.onChange(() => changes++);
    await server.kill();
    const away = Date.now();
    const lost: string[] = [];
    const tick = async () => {
      for (const worker of workers) {
        lost.push(...(await worker.extend(worker === workers[0] ? ['a'] : ['b'])));
        lost.push(...(await worker.takeOver(anyJob())).map(({ job }) => job.run_id));
      }
      await wait(200);
    };
    while (Date.now() - away < 11_000) await tick();
    await server.start();
    const back = Date.now();
    while (Date.now() - back < 14_000) await tick();
    expect(lost).toEqual([]);
    await workers[0]?.submit(jobs('c'));
    await expect.poll(() => changes, { timeout: 12_000 }).toBeGreaterThan(0);
  });
});
