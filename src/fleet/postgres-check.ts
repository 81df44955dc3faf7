/** Whether the database of a queue works from here: what `factory doctor` says of it. Changes nothing. */
import type { Clock } from '../core/contracts/clock.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { bossRelease, loadBoss } from './pg-boss.ts';
import { databaseAddress } from './postgres-address.ts';
import { checkedBinding } from './postgres-binding.ts';
import { connectBoss, connectionProblem, connectionsPerWorker } from './postgres-connection.ts';

export type DatabaseCheck = {
  readonly place: string;
  readonly release: string;
  /** Of the server's PostgreSQL. */
  readonly server: string;
  readonly roundTripMs: number;
  /** Workers for which the server has connections. */
  readonly workersLeft: number;
};

export async function checkDatabase(
  runsDir: string,
  url: string,
  { cwd, clock }: { readonly cwd: string; readonly clock: Clock },
): Promise<DatabaseCheck | Refusal> {
  const address = databaseAddress(url);
  if ('problems' in address) return address;
  const module = await loadBoss(cwd);
  if ('problems' in module) return module;
  const boss = await connectBoss(module, address);
  if ('problems' in boss) return boss;
  try {
    const binding = await checkedBinding(boss, runsDir, address);
    if (binding !== undefined && 'problems' in binding) return binding;
    const began = clock.monotonic();
    const { rows } = await boss.getDb().executeSql(
      `SELECT current_setting('server_version') AS server, current_setting('max_connections')::int
         - current_setting('superuser_reserved_connections')::int
         - (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS free`,
    );
    const roundTripMs = clock.monotonic() - began;
    const workersLeft = Math.max(0, Math.floor(Number(rows[0]?.['free']) / connectionsPerWorker));
    const server = String(rows[0]?.['server']);
    return { place: address.place, release: bossRelease, server, roundTripMs, workersLeft };
  } catch (error) {
    return connectionProblem(error, address);
  } finally {
    await boss.stop({ graceful: false });
  }
}
