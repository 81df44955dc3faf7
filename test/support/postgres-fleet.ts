/** A runs directory whose queue is in a schema of a test's server, and the processes that share it. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Refusal } from '../../src/core/diagnostic.ts';
import { migrateDatabase } from '../../src/fleet/postgres-migration.ts';
import { openPostgresQueue } from '../../src/fleet/postgres-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { folderWithBoss, type TestServer } from './postgres.ts';
import type { TestedFleet } from './queue-contract.ts';

export interface PostgresFleet extends TestedFleet {
  /** The current folder. */
  readonly cwd: string;
  readonly runsDir: string;
  readonly url: string;
  /** Tries to open a queue, here or elsewhere. */
  tryOpen(url?: string, runsDir?: string): Promise<JobQueue | Refusal>;
  /** Runs a statement; QUEUE in it is the schema. */
  sql(statement: string): string;
  migrate: () => ReturnType<typeof migrateDatabase>;
  /** What workers have reported. */
  readonly warnings: readonly string[];
  /** The same queue by another port. */
  through(port: number): Promise<AsyncDisposable & Pick<TestedFleet, 'open'>>;
}

let schemas = 0;

export async function postgresFleet(
  server: TestServer,
  boss: string,
  { tables = true, port = server.port }: { readonly tables?: boolean; readonly port?: number } = {},
): Promise<PostgresFleet> {
  const cwd = folderWithBoss(boss);
  const runsDir = join(cwd, '.factory/runs');
  const schema = `q${++schemas}`;
  const url = `${server.url('postgres').replace(`:${server.port}/`, `:${port}/`)}?schema=${schema}`;
  const migrate = () => migrateDatabase(url, { cwd, clock: realClock });
  if (tables) await migrate();
  const queues = new Map<JobQueue, string>();
  const warnings: string[] = [];
  const sql = (statement: string) => server.sql('postgres', statement.replaceAll('QUEUE', schema));
  const tryOpen = async (to = url, runs = runsDir, worker?: string): Promise<JobQueue | Refusal> => {
    const warn = (text: string) => void warnings.push(text);
    const made = await openPostgresQueue(runs, to, { cwd, clock: realClock, worker, warn });
    if (!('problems' in made)) queues.set(made, worker ?? '');
    return made;
  };
  const openAt = async (at: string, worker?: string): Promise<JobQueue> => {
    const made = await tryOpen(at, runsDir, worker);
    if ('problems' in made) throw new Error(made.problems[0]?.message);
    return made;
  };
  return {
    ...{ cwd, runsDir, url, sql, migrate, warnings },
    tryOpen: (to, runs) => tryOpen(to, runs),
    open: (worker) => openAt(url, worker),
    async through(other) {
      const at = url.replace(/:\d+\//, `:${other}/`);
      // Its queues are closed with the fleet's.
      return { open: (worker) => openAt(at, worker), [Symbol.asyncDispose]: async () => {} };
    },
    async kill(worker) {
      for (const [queue, name] of queues) if (name === worker) await queue.close();
      // As if ten seconds had passed.
      sql(`UPDATE QUEUE.job SET heartbeat_on = now() - interval '11 s' WHERE data->>'worker' = '${worker}'`);
    },
    now: () => new Date(),
    until: (at) => realClock.sleep(Math.max(0, at.getTime() - Date.now()) + 20),
    patienceMs: 20_000,
    async [Symbol.asyncDispose]() {
      for (const queue of queues.keys()) await queue.close();
      rmSync(cwd, { recursive: true, force: true });
    },
  };
}
