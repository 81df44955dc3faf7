/** How the database of a queue is named, and what finds pg-boss. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bossRelease, loadBoss } from '../../src/fleet/pg-boss.ts';
import { databaseAddress } from '../../src/fleet/postgres-address.ts';

test.for([
  ['postgres://u:p@db.example.org/night', 'postgres://db.example.org/night', 'factory'],
  ['postgresql://db.example.org:6543/night', 'postgres://db.example.org:6543/night', 'factory'],
  ['postgres://u:p@h/night?schema=second', 'postgres://h/night?schema=second', 'second'],
  ['postgres:///night?host=/var/run/postgresql&user=u', 'postgres:///var/run/postgresql/night', 'factory'],
] as const)('%s is the database %s', ([text, place, schema]) => {
  expect(databaseAddress(text)).toMatchObject({ place, schema });
});

test('the schema is not for the driver, and TLS is the strict one in every spelling', () => {
  const url = (text: string) => (databaseAddress(text) as { readonly url: string }).url;
  expect(url('postgres://h/d?schema=s&sslmode=require')).toBe('postgres://h/d?sslmode=verify-full');
  expect(url('postgres://h/d?sslmode=no-verify')).toBe('postgres://h/d?sslmode=no-verify');
});

test.for([
  ['db.example.org', 'this is not a URL'],
  ['mysql://h/d', 'mysql:// is not postgres://'],
  ['postgres://u:secret-word@h', 'the name of the database is missing'],
  ['postgres://u:secret/word@h/d', 'the URL cannot be read'],
  ['postgres://u:8/secret-word@h/d', 'what follows the host is not the name of a database'],
  ['postgres://u:secret-word@h:port/d', 'the URL cannot be read'],
  ['postgres://u:secret-word@h/d%zz', 'a % in it is followed by no number'],
  ['postgres://u:secret-word@h/d?schema=No-Name', 'its schema is no plain name'],
] as const)('%s names no database: %s', ([text, why]) => {
  const { problems } = databaseAddress(text) as {
    readonly problems: readonly { readonly message: string }[];
  };
  expect(problems[0]?.message).toContain(why);
  expect(JSON.stringify(problems)).not.toContain('secret');
});

test('an older Node.js is refused before pg-boss is looked for', async () => {
  expect(await loadBoss('/', '20.19.0')).toMatchObject({
    problems: [{ message: 'a queue in PostgreSQL needs Node.js 22.12 or newer, and this is 20.19.0' }],
  });
});

test('the message names the release of pg-boss, and one that is there instead', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'factory-boss-'));
  const fix = `npm i pg-boss@${bossRelease} (in this folder, or with -g where factory is installed so)`;
  expect(await loadBoss(folder, '26.0.0')).toMatchObject({ problems: [{ fix }] });
  const there = join(folder, 'node_modules/pg-boss');
  mkdirSync(there, { recursive: true });
  writeFileSync(join(there, 'package.json'), '{"version":"10.4.2"}');
  const message = `a queue in PostgreSQL needs pg-boss ${bossRelease}: ${there} is 10.4.2`;
  expect(await loadBoss(folder, '26.0.0')).toMatchObject({ problems: [{ message, fix }] });
});
