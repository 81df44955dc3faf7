/** Workers of a queue in PostgreSQL and its server, killed again and again: no job is lost, and the effect of each is there once.
 *  FACTORY_TEST_KILLS=200 for more of them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postgresForTests, startPostgres, type TestServer } from '../support/postgres.ts';
import { type PostgresFleet, postgresFleet } from '../support/postgres-fleet.ts';
import { testJob } from '../support/queue-contract.ts';

const here = postgresForTests();
const kills = Number(process.env['FACTORY_TEST_KILLS'] ?? 6);
const program = join(import.meta.dirname, '../support/postgres-worker.ts');
/** So many wait or run at each kill, and few are left after the last one. */
const queued = 20;

describe.skipIf(here.skipped !== '')(`workers that are killed${here.skipped}`, () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startPostgres(here.programs);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test(`${kills} kills, the last and every twentieth of the server: none lost, none doubled, taken over within 20 seconds`, {
    timeout: 150_000 + kills * 20_000,
  }, async () => {
    await using fleet = await postgresFleet(server, here.boss);
    mkdirSync(join(fleet.cwd, 'work'));
    const queue = await fleet.open();
    const names: string[] = [];
    const fill = async () => {
      const missing = queued - (await queue.list()).length;
      const more = Array.from({ length: Math.max(0, missing) }, (_, n) => names.length + n);
      names.push(...more.map((n) => `j${n}`));
      const labels = (n: number) => (n % 5 === 0 ? ['two'] : []);
      await queue.submit(
        more.map((n) => ({
          job: testJob(`j${n}`, { labels: labels(n), priority: n % 3 }),
          target: 'now' as const,
        })),
      );
    };
    await using workers = workersOf(fleet);
    const outages: number[] = [];
    for (let n = 0; n < kills; n++) {
      await fill();
      await wait(1000 + Math.random() * 2000);
      if (n % 20 === 19 || n === kills - 1) {
        outages.push(Date.now());
        await server.kill();
        await wait(Math.random() * 3000);
        await server.start();
      } else await workers.kill(n);
    }
    await expect.poll(() => queue.list(), { timeout: 120_000, interval: 1000 }).toEqual([]);
    const { effects, slowest, over, measured } = resultsIn(
      readFileSync(join(fleet.cwd, 'notes'), 'utf8'),
      workers.killed,
      outages,
    );
    console.log(
      `${names.length} jobs, ${over} taken over, the slowest of ${measured} without an outage after ${slowest} ms`,
    );
    expect(effects.toSorted()).toEqual(names.toSorted());
    expect(slowest).toBeLessThanOrEqual(20_000);
  });
});

function workersOf({ cwd, url }: PostgresFleet) {
  let made = 0;
  /** When each worker was killed, by its name. */
  const killed = new Map<string, number>();
  const start = () => {
    const name = `w${made++}`;
    const child = spawn(process.execPath, [program, cwd, url, name], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return { name, child };
  };
  // Only a worker that has lived longer than a heartbeat may be late takes jobs from others: the last one is not killed.
  const running = [start(), start(), start(), start()];
  const mortal = running.length - 1;
  const end = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGKILL');
    await ended;
  };
  return {
    killed,
    async kill(n: number) {
      const victim = running[n % mortal];
      if (victim === undefined) return;
      await end(victim.child);
      killed.set(victim.name, Date.now());
      running[n % mortal] = start();
    },
    async [Symbol.asyncDispose]() {
      for (const { child } of running) await end(child);
    },
  };
}

/** How long take-overs took, of those for which the server was there all the time. */
function resultsIn(notes: string, killed: ReadonlyMap<string, number>, outages: readonly number[]) {
  const lines = notes
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  const effects = lines.flatMap(([, what, id = '']) => (what === 'effect' ? [id] : []));
  const over = lines.filter(([, what]) => what === 'continues').length;
  const waits = lines.flatMap(([at, what, , , from = '']) => {
    const since = killed.get(from);
    if (what !== 'continues' || since === undefined) return [];
    // After an outage workers wait once more for each other's heartbeats.
    const isCut = outages.some((away) => away > since - 15_000 && away < Number(at));
    return isCut ? [] : [Number(at) - since];
  });
  return { effects, slowest: Math.max(0, ...waits), over, measured: waits.length };
}
