/** What `factory doctor` finds on this machine, and on ones that lack something. */
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EnvironmentFinding } from '../../src/app/doctor.ts';
import { house } from '../support/house.ts';
import { onDisk } from '../support/temporary.ts';
import { call, type Flags } from '../support/verb.ts';

onDisk();

const doctor = (cwd: string, env: Record<string, string>, flags: Flags = {}) =>
  call(['doctor'], flags, { cwd, env });

/** By name. */
async function findings(cwd: string, env: Record<string, string>, runsdir?: string) {
  const { code, out } = await doctor(cwd, env, { json: true, ...(runsdir === undefined ? {} : { runsdir }) });
  const report = JSON.parse(out);
  expect(report).toMatchObject({ schema_version: 1, exit_code: code });
  const found: readonly EnvironmentFinding[] = report.findings;
  return { code, ...Object.fromEntries(found.map((one) => [one.what, one])) } as Record<
    string,
    EnvironmentFinding
  > & {
    readonly code: number;
  };
}

const path = process.env['PATH'] ?? '';

test('if all prerequisites are met: exit code 0, a line for each, and no files left behind', async () => {
  await using it = await house({});
  const env = { PATH: path, TMPDIR: it.path, FACTORY_SANDBOX: 'none', HOME: it.path };
  const { code, out } = await doctor(it.path, env);
  expect(code, out).toBe(0);
  expect(out.match(/^[✓!✗·] \w+/gm)?.map((line) => line.slice(2))).toEqual([
    'node',
    'git',
    'sandbox',
    'runs',
    'temporary',
    'keys',
    'secrets',
    'agent',
    'providers',
    'codex',
    'claude',
  ]);
  expect(out).toContain(`runs      ${join(it.path, '.factory/runs')}: `);
  expect(out).toMatch(/\nruns work here\n$/);
  expect(readdirSync(it.path)).toEqual([]);
});

test('a missing prerequisite is reported with its fix', async () => {
  await using it = await house({ file: '' });
  const bare = { PATH: join(it.path, 'empty'), TMPDIR: it.path };
  const found = await findings(it.path, bare, 'file/runs');
  expect(found.code).toBe(1);
  expect(found['git']).toMatchObject({ state: 'bad', fix: 'install git' });
  expect(found['sandbox']).toMatchObject({ state: 'less' });
  expect(found['sandbox']?.more.join()).toContain('not enforced: files');
  expect(found['runs']).toMatchObject({ state: 'bad', fix: 'name another folder with --runsdir' });
  expect(found['runs']?.says).toContain(`${join(it.path, 'file')} is not a folder`);
  expect(found['codex']).toMatchObject({ state: 'absent' });
  expect((await doctor(it.path, bare, { runsdir: 'file/runs' })).out).toMatch(/\nto be mended: git, runs\n$/);
});

test.for([
  ['HOME is not set', {}, 'HOME is not set'],
  ['the home is not a folder', { HOME: '/dev/null' }, '/dev/null is not a folder'],
  ['nothing can be written at home', { HOME: '/proc' }, '/proc/.local/state/factory/keys: nothing can be'],
  ['FACTORY_KEYS is a relative path', { FACTORY_KEYS: 'keys' }, 'no absolute path'],
] as const)(
  'if %s, there is no place for the keys of holdouts, and other runs work',
  async ([, env, says]) => {
    await using it = await house({});
    const found = await findings(it.path, { PATH: path, ...env });
    expect(found['keys']).toMatchObject({ state: 'less', fix: expect.stringContaining('FACTORY_KEYS') });
    expect(found['keys']?.says).toContain(says);
    expect(found.code).toBe(0);
  },
);

test('keys may not be in the runs directory', async () => {
  await using it = await house({});
  const env = { PATH: path, FACTORY_KEYS: join(it.path, 'runs/keys') };
  const says = expect.stringContaining('would lie in the runs directory');
  expect((await findings(it.path, env, 'runs'))['keys']).toMatchObject({ state: 'less', says });
  expect((await findings(it.path, env, 'others'))['keys']).toMatchObject({ state: 'good' });
});

test('the agent and the installed agent programs are reported, without the key', async () => {
  await using it = await house({});
  const bin = join(it.path, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'codex'), '#!/bin/sh\n');
  chmodSync(join(bin, 'codex'), 0o755);
  const env = {
    PATH: `${bin}:${path}`,
    OPENAI_API_KEY: 'sk-secret-secret',
    FACTORY_CLAUDE_PATH: '/no/claude',
  };
  const found = await findings(it.path, env);
  expect(found['agent']).toMatchObject({ state: 'good' });
  expect(found['agent']?.says).toMatch(/^openai .*, by OPENAI_API_KEY$/);
  expect(JSON.stringify(found)).not.toContain('sk-secret');
  expect(found['codex']).toMatchObject({ state: 'good', says: expect.stringContaining(join(bin, 'codex')) });
  expect(found['claude']).toMatchObject({ state: 'absent', says: expect.stringContaining('/no/claude') });
  const unset = await findings(it.path, { PATH: path });
  expect(unset['agent']).toMatchObject({ state: 'less' });
});

test('an invalid FACTORY_SANDBOX, or a missing bubblewrap that it requires, is reported', async () => {
  await using it = await house({});
  const found = await findings(it.path, { PATH: path, FACTORY_SANDBOX: 'strong' });
  expect(found['sandbox']).toMatchObject({ state: 'bad' });
  expect(found['sandbox']?.says).toContain('FACTORY_SANDBOX is "strong"');
  const needed = await findings(it.path, { PATH: join(it.path, 'empty'), FACTORY_SANDBOX: 'bwrap' });
  expect(needed['sandbox']).toMatchObject({ state: 'bad' });
});
