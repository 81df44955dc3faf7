/** Which runs directory and which database belong together. One schema has the queue of one runs directory: its jobs name runs
 *  that lie there. `queue/database.json` has the id of the directory, and the name of pg-boss's queue ends with it. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { ulid } from 'ulid';
import * as z from 'zod';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { once } from '../core/once.ts';
import { linkOnce } from '../platform/files/link.ts';
import { namesIn } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import { fleetLayout } from './layout.ts';
import type { Boss } from './pg-boss.ts';
import { type DatabaseAddress, databaseCode, placeOf } from './postgres-address.ts';
import { inTransaction } from './postgres-connection.ts';
import { claimRules, lockOf } from './postgres-rows.ts';

const bindingSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    id: z.string().describe('Of the runs directory, in the database too'),
    host: z.string(),
    port: z.int(),
    database: z.string(),
    schema: z.string(),
  }),
);
export type DatabaseBinding = z.infer<ReturnType<typeof bindingSchema>>;

/** The database that has the jobs of a runs directory. */
export function databaseBinding(runsDir: string): DatabaseBinding | Refusal | undefined {
  const path = fleetLayout(runsDir).queue.database;
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    return bindingSchema().parse(JSON.parse(text));
  } catch {
    return refused(
      databaseCode,
      `${path} is no record of the database of this queue`,
      'restore it from a backup',
    );
  }
}

/** What a command gets that does not name the database of this directory. */
export const databaseNeeded = (runsDir: string, binding: DatabaseBinding): Refusal =>
  refused(
    databaseCode,
    `the queue of ${runsDir} is in ${placeOf(binding)}`,
    'set FACTORY_DB to its URL (or pass --db)',
  );

const queuePrefix = 'runs-';
export const queueNameOf = ({ id }: DatabaseBinding): string => `${queuePrefix}${id}`;

/** The binding of `runsDir` to this database, undefined if both are free; or why they do not belong together. */
export async function checkedBinding(
  boss: Boss,
  runsDir: string,
  address: DatabaseAddress,
): Promise<DatabaseBinding | undefined | Refusal> {
  const binding = databaseBinding(runsDir);
  if (binding !== undefined && 'problems' in binding) return binding;
  const there = (await boss.getQueues())
    .map(({ name }) => name)
    .filter((name) => name.startsWith(queuePrefix));
  if (binding !== undefined && there.includes(queueNameOf(binding))) return binding;
  const another = 'use another schema for this directory: add ?schema=NAME to the URL';
  if (there.length > 0)
    return refused(
      databaseCode,
      `the queue in ${address.place} belongs to another runs directory than ${runsDir}: its jobs name runs that are not here`,
      `share that directory with this host (docs/fleet.md), or ${another}`,
    );
  if (binding !== undefined && placeOf(binding) !== address.place)
    return refused(
      databaseCode,
      `the queue of ${runsDir} is in ${placeOf(binding)}, not in ${address.place}`,
      'set FACTORY_DB to its URL',
    );
  if (binding === undefined && hasJobs(runsDir))
    return refused(
      databaseCode,
      `the queue of ${runsDir} has jobs as files, which no worker of the database would take`,
      'let workers without --db finish them, or drop them (factory queue), then use the database',
    );
  return binding;
}

function hasJobs(runsDir: string): boolean {
  const { wait, later, held, run, submitted } = fleetLayout(runsDir).queue;
  const jobs = (folder: string) => (existsSync(folder) ? namesIn(folder).length : 0);
  const runs = existsSync(run) ? namesIn(run).some((worker) => jobs(`${run}/${worker}`) > 0) : false;
  return runs || [wait, later, held, submitted].some((folder) => jobs(folder) > 0);
}

/** Binds `runsDir` to this database, unless it is, or they do not belong together. */
export async function bind(
  boss: Boss,
  runsDir: string,
  address: DatabaseAddress,
): Promise<DatabaseBinding | Refusal> {
  const { root, database: path } = fleetLayout(runsDir).queue;
  const { host, port, database, schema } = address;
  const fresh: DatabaseBinding = {
    schema_version: 1,
    id: ulid().toLowerCase(),
    host,
    port,
    database,
    schema,
  };
  return inTransaction(boss, async (db) => {
    await db.executeSql(lockOf(schema, 'binding'));
    const before = await checkedBinding(boss, runsDir, address);
    if (before !== undefined && 'problems' in before) return before;
    if (before === undefined) {
      mkdirSync(root, { recursive: true });
      await linkOnce(path, `${JSON.stringify(fresh, null, 2)}\n`);
    }
    const bound = databaseBinding(runsDir);
    if (bound === undefined) throw new Error(`${path} cannot be read`);
    if ('problems' in bound) return bound;
    await boss.createQueue(queueNameOf(bound), claimRules);
    return bound;
  });
}
