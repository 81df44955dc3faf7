/** Finds pg-boss, which keeps queues in PostgreSQL: no dependency of factory, so that only those install it who use it. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { readPlain } from '../platform/files/read.ts';
import { importModule } from '../platform/import-module.ts';
import { packageRoot } from '../platform/package.ts';
import { databaseCode } from './postgres-address.ts';

/** The release that this version of factory was tested with: its tables are no interface that others may rely on. */
export const bossRelease = '12.38.0';
const install = `npm i pg-boss@${bossRelease}`;
/** What that release asks for. */
const leastNode = [22, 12] as const;

type Row = Readonly<Record<string, unknown>>;

/** Statements, on any connection or within a transaction. */
export interface Statements {
  executeSql(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly Row[] }>;
}

interface BossDatabase extends Statements {
  beginTransaction(): Promise<{
    readonly db: Statements;
    commit(): Promise<void>;
    rollback(): Promise<void>;
  }>;
  /** Rejects if the first connection fails; later ones are made again. */
  listen(channel: string, notified: () => void, connected: () => void): Promise<{ close(): Promise<void> }>;
}

/** A row as one worker has fetched it: calls that name it do nothing once another has. */
export type Attempt = { readonly id: string; readonly retryCount: number };

type Within = { readonly db: Statements };

/** Of pg-boss what the queue uses. */
export interface Boss {
  on(event: 'error' | 'warning', heard: (what: unknown) => void): unknown;
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean }): Promise<void>;
  isInstalled(): Promise<boolean>;
  schemaVersion(): Promise<number | null>;
  getDb(): BossDatabase;
  getQueues(): Promise<readonly { readonly name: string }[]>;
  createQueue(name: string, options: object): Promise<void>;
  insert(
    name: string,
    jobs: readonly object[],
    options: Within & { readonly returnId: true },
  ): Promise<readonly string[] | null>;
  update(
    name: string,
    data: object | undefined,
    options: Within & {
      readonly id: string;
      readonly priority: number;
      readonly startAfter?: string | number;
    },
  ): Promise<unknown>;
  readonly fetch: (name: string, options: object & Within) => Promise<readonly Row[]>;
  touch(name: string, jobs: readonly Attempt[]): Promise<{ readonly affected: number }>;
  fail(name: string, jobs: readonly Attempt[], output: null, options: Within): Promise<unknown>;
  deleteJob(name: string, job: string | Attempt, options: Within): Promise<{ readonly affected: number }>;
  /** Finds rows whose worker is silent, or has had them for too long. */
  supervise(name: string): Promise<void>;
  getBamStatus(): Promise<readonly { readonly status: string; readonly count: number }[]>;
}

export type BossModule = {
  readonly create: (options: object) => Boss;
  /** Of the tables that it needs. */
  readonly schemaVersion: number;
};

/** Loads pg-boss from next to the installed factory, else from the current folder. */
export async function loadBoss(
  cwd: string,
  node: string = process.versions.node,
): Promise<BossModule | Refusal> {
  if (!isNewEnough(node))
    return refused(
      databaseCode,
      `a queue in PostgreSQL needs Node.js ${leastNode.join('.')} or newer, and this is ${node}`,
      'install a newer Node.js, or leave out --db: the queue is then in the runs directory',
    );
  const others: string[] = [];
  for (const folder of foldersOf(cwd)) {
    const found = packageIn(folder);
    if (found === undefined) continue;
    if (found.version === bossRelease) return load(folder, found.schema);
    others.push(`${folder} is ${found.version}`);
  }
  const why = others.length === 0 ? 'which is not installed' : others.join(', ');
  return refused(
    databaseCode,
    `a queue in PostgreSQL needs pg-boss ${bossRelease}: ${why}`,
    `${install} (in this folder, or with -g where factory is installed so)`,
  );
}

function isNewEnough(node: string): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  return major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
}

const foldersOf = (cwd: string): readonly string[] => [
  ...new Set(
    [packageRoot(), cwd].flatMap((folder) =>
      (createRequire(join(folder, 'package.json')).resolve.paths('pg-boss') ?? []).map((place) =>
        join(place, 'pg-boss'),
      ),
    ),
  ),
];

function packageIn(folder: string): { readonly version: string; readonly schema: number } | undefined {
  const found = readPlain(join(folder, 'package.json'));
  if (found.kind !== 'text') return undefined;
  try {
    const read: { readonly version?: unknown; readonly pgboss?: { readonly schema?: unknown } } = JSON.parse(
      found.text,
    );
    return { version: String(read.version), schema: Number(read.pgboss?.schema) };
  } catch {
    return undefined;
  }
}

async function load(folder: string, schemaVersion: number): Promise<BossModule> {
  const { PgBoss } = await importModule(pathToFileURL(join(folder, 'dist/index.js')).href);
  const Maker = PgBoss as new (options: object) => Boss;
  return { create: (options) => new Maker(options), schemaVersion };
}
