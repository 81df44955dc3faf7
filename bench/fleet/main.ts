/** `npm run bench:fleet -- [--quick] [--only CASE,…] [--workers N]`: what the queue of jobs costs, in a folder, and in the database of FACTORY_BENCH_DB. */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { migrateDatabase } from '../../src/fleet/postgres-migration.ts';
import { realClock } from '../../src/platform/clock.ts';
import { asleep, claims, due, idle, submissions } from './cases.ts';
import { type Ground, groundOf } from './ground.ts';
import { crowd, worker } from './workers.ts';

/** The full sizes, and small ones that show a trend. */
const sizes = {
  full: { due: 1000, asleep: 10_000, many: 100_000, workers: 100, trials: 25, idleMs: 20_000 },
  quick: { due: 100, asleep: 1000, many: 3000, workers: 4, trials: 7, idleMs: 3000 },
};
export type FleetSizes = (typeof sizes)['full'];

// What the queue waits with does not keep a process alive.
setInterval(() => {}, 1000);
const words = process.argv.slice(3);
if (words[0] === 'worker') await worker(words.slice(1));
else await measureAll();
process.exit();

async function measureAll(): Promise<void> {
  const size = { ...(words.includes('--quick') ? sizes.quick : sizes.full) };
  const count = words.indexOf('--workers');
  if (count !== -1) size.workers = Number(words[count + 1]);
  const named = words.indexOf('--only') === -1 ? undefined : words[words.indexOf('--only') + 1]?.split(',');
  const all = Object.entries({ submissions, due, asleep, idle, claims, crowd });
  const asked = all.filter(([name]) => named?.includes(name) !== false);
  const load = () => `load ${loadavg()[0]?.toFixed(1)}`;
  for (const db of [
    undefined,
    ...(process.env['FACTORY_BENCH_DB'] === undefined ? [] : [process.env['FACTORY_BENCH_DB']]),
  ]) {
    console.log(`\n${db === undefined ? `in a folder below ${tmpdir()}` : 'in PostgreSQL'}, ${load()}`);
    for (const [, measured] of asked) {
      const folder = mkdtempSync(join(tmpdir(), 'factory-fleet-'));
      const boss = process.env['FACTORY_TEST_PG_BOSS'] ?? process.argv[2] ?? '';
      const ground: Ground = groundOf(folder, db && (await freshSchema(db, folder, boss)), boss);
      try {
        for (const line of await measured(ground, size)) console.log(`  ${line}  (${load()})`);
      } finally {
        await ground.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }
  }
}

/** A schema has the queue of one runs directory. */
async function freshSchema(url: string, folder: string, cwd: string): Promise<string> {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '_');
  const fresh = `${url}${url.includes('?') ? '&' : '?'}schema=${name}`;
  await migrateDatabase(fresh, { cwd, clock: realClock });
  return fresh;
}
