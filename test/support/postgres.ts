/** PostgreSQL and pg-boss for tests: a server in its own folder, as another user, on a free port of this host. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { bossRelease } from '../../src/fleet/pg-boss.ts';

const debian = '/usr/lib/postgresql';

/** The folder of the server's programs: Debian's newest. */
function serverPrograms(): string | undefined {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  return versions.map((one) => join(debian, one, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

/** A folder whose `node_modules` has pg-boss, by release: FACTORY_TEST_PG_BOSS names it for the present one. */
const bossFolder = process.env['FACTORY_TEST_PG_BOSS'] ?? '';

/** The folder of the server's programs and the one with pg-boss; or why the tests are skipped, for the list of tests. */
export function postgresForTests(): {
  readonly programs: string;
  readonly boss: string;
  readonly skipped: string;
} {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const skipped = (why: string) => ({ programs: '', boss: '', skipped: ` (skipped: ${why})` });
  if (major < 22 || (major === 22 && minor < 12)) return skipped('pg-boss needs Node.js 22.12');
  const programs = serverPrograms();
  if (programs === undefined) return skipped('PostgreSQL is not installed');
  const found = join(bossFolder, 'node_modules/pg-boss/package.json');
  if (bossFolder === '' || !existsSync(found))
    return skipped('FACTORY_TEST_PG_BOSS names no folder with pg-boss');
  if (!readFileSync(found, 'utf8').includes(`"version": "${bossRelease}"`))
    return skipped(`FACTORY_TEST_PG_BOSS has another release than ${bossRelease}`);
  return { programs, boss: bossFolder, skipped: '' };
}

/** The server may not run as root. */
const serverUser = (): { readonly uid: number; readonly gid: number } | undefined => {
  if (process.getuid?.() !== 0) return undefined;
  const [, , uid, gid] = /^postgres:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))?.[0]?.split(':') ?? [];
  return { uid: Number(uid ?? 65_534), gid: Number(gid ?? 65_534) };
};

export const password = 'correct-horse-battery';

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** The URL of a database, which is made if it is not there. */
  url(database: string): string;
  /** Runs a statement; its output without decoration. */
  sql(database: string, statement: string): string;
  /** As if its machine had failed. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export async function startPostgres(programs: string): Promise<TestServer> {
  const user = serverUser();
  const top = mkdtempSync(join(tmpdir(), 'factory-pg-'));
  const data = join(top, 'data');
  const port = await freePort();
  writeFileSync(join(top, 'password'), `${password}\n`);
  if (user !== undefined)
    for (const path of [top, join(top, 'password')]) chownSync(path, user.uid, user.gid);
  const quiet = {
    cwd: top,
    stdio: 'pipe',
    env: { PATH: process.env['PATH'], LC_ALL: 'C' },
    ...user,
  } as const;
  const rules = ['-A', 'scram-sha-256', '-U', 'factory', `--pwfile=${join(top, 'password')}`, '--no-sync'];
  execFileSync(join(programs, 'initdb'), ['-D', data, ...rules], quiet);
  const settings = ['listen_addresses=127.0.0.1', 'fsync=off', 'full_page_writes=off', 'max_connections=200'];
  const databases = new Set<string>(['postgres']);
  let server: ChildProcess | undefined;

  const sql = (database: string, statement: string): string =>
    execFileSync(
      join(programs, 'psql'),
      ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'factory', '-d', database, '-XAtqc', statement],
      {
        env: { PATH: process.env['PATH'], PGPASSWORD: password },
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ).trim();
  const answers = () => {
    try {
      return sql('postgres', 'SELECT 1') === '1';
    } catch {
      return false;
    }
  };
  const end = async (signal: NodeJS.Signals) => {
    const ending = server;
    server = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = new Promise((done) => ending.once('exit', done));
    ending.kill(signal);
    await ended;
  };
  const start = async () => {
    const options = ['-D', data, '-p', `${port}`, '-k', top, ...settings.flatMap((one) => ['-c', one])];
    // Processes of a killed server may still end: it is begun again until it runs.
    for (let tries = 0; tries < 100; tries++) {
      server ??= spawn(join(programs, 'postgres'), options, { ...quiet, stdio: 'ignore' });
      if (answers()) return;
      if (server.exitCode !== null) server = undefined;
      await wait(50);
    }
    throw new Error('PostgreSQL did not start');
  };
  await start();
  return {
    port,
    url(database) {
      if (!databases.has(database)) sql('postgres', `CREATE DATABASE "${database}"`);
      databases.add(database);
      return `postgres://factory:${password}@127.0.0.1:${port}/${database}`;
    },
    sql,
    kill: () => end('SIGKILL'),
    start,
    async [Symbol.asyncDispose]() {
      await end('SIGINT');
      rmSync(top, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const taken = createServer().once('error', reject);
    taken.listen(0, '127.0.0.1', () => {
      const at = taken.address();
      taken.close(() => resolve(typeof at === 'object' && at !== null ? at.port : 0));
    });
  });
}

/** A current folder in which pg-boss is found. */
export function folderWithBoss(boss: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'factory-pg-boss-'));
  symlinkSync(join(boss, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, '.factory/runs'), { recursive: true });
  return folder;
}
