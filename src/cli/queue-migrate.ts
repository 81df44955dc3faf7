/** `factory queue --migrate`: creates or upgrades the tables of a queue in PostgreSQL. */
import { migrateDatabase } from '../fleet/postgres-migration.ts';
import { usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import type { QueuePlace } from './open-queue.ts';
import { databaseUrlOf } from './options.ts';
import type { VerbResult } from './verb.ts';

export async function queueMigrate(
  options: QueuePlace & { readonly json?: boolean },
  io: CliIo,
): Promise<VerbResult> {
  const url = databaseUrlOf(options, io);
  if (url === undefined)
    return usage(
      '--migrate is for a queue in PostgreSQL, and no database is named',
      'set FACTORY_DB, or pass --db',
    );
  const done = await migrateDatabase(url, io);
  if ('problems' in done) return done;
  const { place, from, to } = done;
  if (options.json === true)
    io.out(`${JSON.stringify({ schema_version: 1, place, from: from ?? null, to }, null, 2)}\n`);
  else if (from === to) io.out(`${place} has tables of this release (${to}): nothing to do\n`);
  else if (from === undefined) io.out(`created the tables of the queue in ${place} (release ${to})\n`);
  else io.out(`upgraded the tables of the queue in ${place} from release ${from} to ${to}\n`);
  return 0;
}
