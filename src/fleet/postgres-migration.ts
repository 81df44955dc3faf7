/** Creates or upgrades the tables of a queue in PostgreSQL. Only `factory queue --migrate` does it. */
import type { Clock } from '../core/contracts/clock.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { type Boss, loadBoss } from './pg-boss.ts';
import { databaseAddress } from './postgres-address.ts';
import { bossOptions, connectionProblem, newerProblem } from './postgres-connection.ts';

export type DatabaseMigration = {
  readonly place: string;
  /** Undefined where there were no tables. */
  readonly from: number | undefined;
  readonly to: number;
};

/** pg-boss builds indexes of an upgrade in the background, for which it looks this often. */
const lookMs = 500;

/** Workers that run meanwhile continue. */
export async function migrateDatabase(
  url: string,
  { cwd, clock }: { readonly cwd: string; readonly clock: Clock },
): Promise<DatabaseMigration | Refusal> {
  const address = databaseAddress(url);
  if ('problems' in address) return address;
  const module = await loadBoss(cwd);
  if ('problems' in module) return module;
  const { place } = address;
  const to = module.schemaVersion;
  const reader = module.create(bossOptions(address));
  const writer = module.create({ ...bossOptions(address), migrate: true, query_timeout: 0 });
  for (const boss of [reader, writer])
    for (const event of ['error', 'warning'] as const) boss.on(event, () => {});
  try {
    const from = await versionIn(reader);
    if (from !== undefined && from > to) return newerProblem(place, from, to);
    await writer.start();
    await indexesBuilt(writer, clock);
    return { place, from, to };
  } catch (error) {
    return connectionProblem(error, address);
  } finally {
    for (const boss of [reader, writer]) await boss.stop({ graceful: false });
  }
}

async function versionIn(reader: Boss): Promise<number | undefined> {
  // It opens its connections, then refuses tables of another release.
  await reader.start().catch(() => {});
  return (await reader.isInstalled()) ? ((await reader.schemaVersion()) ?? undefined) : undefined;
}

async function indexesBuilt(writer: Boss, clock: Clock): Promise<void> {
  for (;;) {
    const open = (await writer.getBamStatus()).filter(({ status }) =>
      /^(?:pending|in_progress)$/.test(status),
    );
    if (open.length === 0) return;
    await clock.sleep(lookMs);
  }
}
