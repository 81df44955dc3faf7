/** Connects to the database of a queue, and says in words for people what does not work. */
import { type Refusal, refused } from '../core/diagnostic.ts';
import { type Boss, type BossModule, bossRelease, type Statements } from './pg-boss.ts';
import { type DatabaseAddress, databaseCode } from './postgres-address.ts';

/** The command that creates or upgrades the tables. Nothing else does. */
export const migrateCommand = 'factory queue --migrate';

/** Two connections for statements; the third listens. */
const mostConnections = 2;
export const connectionsPerWorker = mostConnections + 1;
const connectMs = 5000;
/** A statement without an answer for so long shows that the connection is cut without a word. */
const silenceMs = 15_000;

export const bossOptions = ({ url, schema }: DatabaseAddress): object => ({
  connectionString: url,
  schema,
  application_name: 'factory',
  max: mostConnections,
  connectionTimeoutMillis: connectMs,
  query_timeout: silenceMs,
  keepAlive: true,
  // Passes that fail the jobs of silent workers run when a worker asks for one, not by a timer.
  supervise: false,
  monitorIntervalSeconds: 1,
  schedule: false,
  migrate: false,
  registerInstance: false,
  monitorVacuum: false,
  openTelemetry: { enabled: false },
});

/** Connects; the tables must be those of this release. */
export async function connectBoss(
  { create, schemaVersion }: BossModule,
  address: DatabaseAddress,
): Promise<Boss | Refusal> {
  const boss = create(bossOptions(address));
  // What fails in the background is tried again there; what fails in a call is that call's error.
  boss.on('error', () => {});
  boss.on('warning', () => {});
  try {
    await boss.start();
    return boss;
  } catch (error) {
    const problem = (await versionProblem(boss, schemaVersion, address)) ?? connectionProblem(error, address);
    await boss.stop({ graceful: false });
    return problem;
  }
}

/** Why the tables are not those of this release; undefined if they are, or no connection can tell. */
async function versionProblem(
  boss: Boss,
  expected: number,
  { place, schema }: DatabaseAddress,
): Promise<Refusal | undefined> {
  try {
    const version = (await boss.isInstalled()) ? await boss.schemaVersion() : undefined;
    if (version === expected) return undefined;
    if (version === undefined || version === null)
      return refused(
        databaseCode,
        `${place} has no queue: there are no tables in its schema "${schema}"`,
        `create them: ${migrateCommand}`,
      );
    return version > expected
      ? newerProblem(place, version, expected)
      : refused(
          databaseCode,
          `the queue in ${place} has tables of an older release (${version}; pg-boss ${bossRelease} has ${expected})`,
          `upgrade them: ${migrateCommand} (workers that run meanwhile continue)`,
        );
  } catch {
    return undefined;
  }
}

export const newerProblem = (place: string, version: number, expected: number): Refusal =>
  refused(
    databaseCode,
    `the queue in ${place} has tables of a newer release (${version}; pg-boss ${bossRelease} has ${expected})`,
    'upgrade factory and pg-boss on this host to what upgraded the queue',
  );

/** Why a connection fails. Never the URL, and of the server's words only those without secrets. */
export function connectionProblem(error: unknown, address: DatabaseAddress): Refusal {
  const [why, fix] = wordsOf(error, address);
  return refused(databaseCode, `${address.place}: ${why}`, fix);
}

function wordsOf(error: unknown, address: DatabaseAddress): readonly [why: string, fix?: string] {
  const { host, port, database, url } = address;
  const { username, searchParams } = new URL(url);
  const user = decodeURIComponent(username) || (searchParams.get('user') ?? '');
  const message = error instanceof Error ? error.message : String(error);
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return [`no server listens on ${host}, port ${port}`, 'start it, or correct host and port'];
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return [`the host ${host} is not known`, 'correct its name'];
    case '28P01':
    case '28000':
      return [
        `the server refuses ${user === '' ? 'the user' : `the user ${user}`}: wrong user or password, or not from this host`,
        'correct the URL (FACTORY_DB), or pg_hba.conf of the server',
      ];
    case '3D000':
      return [`the server has no database "${database}"`, `createdb ${database}`];
    case '42501':
      return [`${message} (${user})`, `grant it, or create the tables as another user: ${migrateCommand}`];
    case '57P03':
      return ['the server starts or stops at the moment', 'try again'];
    case '53300':
      return [
        'the server has no connection left',
        `a worker needs ${connectionsPerWorker}: raise max_connections`,
      ];
    default:
  }
  if (/client password must be a string|no password/i.test(message))
    return [
      'the server asks for a password and the URL has none',
      'write it as USER:PASSWORD@, or use .pgpass',
    ];
  if (/does not support SSL/i.test(message))
    return ['the server does not offer TLS, and the URL asks for it', 'leave out sslmode, or turn TLS on'];
  if (/certificate|SSL|TLS/i.test(`${codeOf(error)} ${message}`))
    return [`TLS: ${message}`, 'name the CA with ?sslrootcert=FILE; sslmode=no-verify checks no certificate'];
  if (/timeout|timed out/i.test(message) || codeOf(error) === 'ETIMEDOUT')
    return [`no answer from ${host}, port ${port}`, 'correct host and port, or open the firewall'];
  return [withoutPassword(message, url)];
}

function withoutPassword(message: string, url: string): string {
  const { password, searchParams } = new URL(url);
  const texts = [url, password, decodeURIComponent(password), searchParams.get('password') ?? ''].filter(
    (text) => text !== '',
  );
  return texts.reduce((text, secret) => text.replaceAll(secret, '***'), message);
}

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

const awayCodes =
  /^(?:08...|57P0[123]|53300|25P03|55P03|40001|40P01|ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|E(?:HOST|NET)UNREACH|ENOTFOUND|EAI_AGAIN)$/;
const awayWords =
  /connection terminated|terminated unexpectedly|timeout exceeded|read timeout|connection error|closed the connection|not queryable/i;

/** Whether a call failed because the database does not answer for a while, or asks to try again. */
export const isAway = (error: unknown): boolean =>
  awayCodes.test(codeOf(error)) || (error instanceof Error && awayWords.test(error.message));

/** All of it or nothing. A process that is stopped within does not keep others from its locks. */
export async function inTransaction<T>(boss: Boss, work: (db: Statements) => Promise<T>): Promise<T> {
  const transaction = await boss.getDb().beginTransaction();
  try {
    await transaction.db.executeSql(
      "SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('lock_timeout', '10s', true)",
    );
    const result = await work(transaction.db);
    await transaction.commit();
    return result;
  } catch (error) {
    await transaction.rollback();
    throw error;
  }
}
