/** What `factory doctor` finds on this machine, and on ones that lack something. */
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type DoctorOptions, doctorCommand } from '../../src/commands/doctor.ts';
import type { Finding } from '../../src/factory/machine.ts';
import { house } from '../support/house.ts';
import { diskIn } from '../workspace/disks.ts';

async function doctor(cwd: string, env: Record<string, string>, options: DoctorOptions = {}) {
  let out = '';
  const code = await doctorCommand(options, {
    cwd,
    env,
    out: (text) => {
      out += text;
    },
    err: () => {},
    outIsTerminal: false,
    errIsTerminal: false,
    width: 100,
  });
  return { code, out };
}

/** By name. */
async function findings(cwd: string, env: Record<string, string>, runsdir?: string) {
  const { code, out } = await doctor(cwd, env, { json: true, ...(runsdir === undefined ? {} : { runsdir }) });
  const told = JSON.parse(out);
  expect(told).toMatchObject({ schema_version: 1, exit_code: code });
  const found: readonly Finding[] = told.findings;
  return { code, ...Object.fromEntries(found.map((one) => [one.what, one])) } as Record<string, Finding> & {
    readonly code: number;
  };
}

const path = process.env['PATH'] ?? '';

test('a machine that has what is needed: 0, a line for each thing, nothing left behind', async () => {
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
    'agent',
    'codex',
    'claude',
  ]);
  expect(out).toContain(`runs      ${join(it.path, '.factory/runs')}: `);
  expect(out).toMatch(/\nruns work here\n$/);
  expect(readdirSync(it.path)).toEqual([]);
});

test('what is missing is told with what mends it', async () => {
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

test('a disk that keeps no modes is no place for runs', async (context) => {
  await using it = await house({});
  using disk = diskIn(it.path, 'FAT (FUSE)');
  if (disk === undefined) return context.skip();
  const found = await findings(it.path, { PATH: path, HOME: it.path }, 'disk/runs');
  expect(found['runs']).toMatchObject({ state: 'bad', fix: 'name another folder with --runsdir' });
  expect(readdirSync(disk.path)).toEqual([]);
});

test('what serves the disk of the runs has ended: that is told of them, and all else is looked at', async (context) => {
  await using it = await house({});
  using disk = diskIn(it.path, 'FAT (FUSE)');
  if (disk === undefined) return context.skip();
  disk.end();
  const found = await findings(it.path, { PATH: path, HOME: it.path }, 'disk/runs');
  expect(found['runs']).toMatchObject({ state: 'bad', fix: 'name another folder with --runsdir' });
  expect(found['keys']?.state).toBe('good');
});

test.for([
  ['a link that leads nowhere', (at: string) => symlinkSync('nowhere', at)],
  ['a circle of links', (at: string) => symlinkSync('place', at)],
] as const)('%s is no place for runs', async ([, make]) => {
  await using it = await house({});
  make(join(it.path, 'place'));
  expect((await findings(it.path, { PATH: path }, 'place/runs'))['runs']?.state).toBe('bad');
});

test.for([
  ['there is no home', {}, 'HOME is not set'],
  ['the home is not a folder', { HOME: '/dev/null' }, '/dev/null is not a folder'],
  ['nothing can be written at home', { HOME: '/proc' }, '/proc/.local/state/factory/keys: nothing can be'],
  ['the folder that is named depends on where one stands', { FACTORY_KEYS: 'keys' }, 'no absolute path'],
] as const)(
  'where %s, sealed scenarios have no place for their key, and all else runs',
  async ([, env, says]) => {
    await using it = await house({});
    const found = await findings(it.path, { PATH: path, ...env });
    expect(found['keys']).toMatchObject({ state: 'less', fix: expect.stringContaining('FACTORY_KEYS') });
    expect(found['keys']?.says).toContain(says);
    expect(found.code).toBe(0);
  },
);

test('keys may not lie among the runs that they open', async () => {
  await using it = await house({});
  const env = { PATH: path, FACTORY_KEYS: join(it.path, 'runs/keys') };
  const says = expect.stringContaining('would lie in the runs directory');
  expect((await findings(it.path, env, 'runs'))['keys']).toMatchObject({ state: 'less', says });
  expect((await findings(it.path, env, 'others'))['keys']).toMatchObject({ state: 'good' });
});

test.skipIf(process.getuid?.() === 0)('a folder that may not be entered hides no git', async () => {
  await using it = await house({ 'shut/x': '' });
  chmodSync(join(it.path, 'shut'), 0);
  const found = await findings(join(it.path, 'shut'), { PATH: path }, it.path);
  chmodSync(join(it.path, 'shut'), 0o755);
  expect(found['git']).toMatchObject({ state: 'good' });
});

test('who answers, and which agent programs are there; a key is not told', async () => {
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
  const nobody = await findings(it.path, { PATH: path });
  expect(nobody['agent']).toMatchObject({ state: 'less' });
});

test('a proxy that the calls of a model do not take is named, and nothing of its address', async () => {
  await using it = await house({});
  const env = { PATH: path, OPENAI_API_KEY: 'sk-secret-secret', https_proxy: 'http://me:hunter2@proxy:1' };
  const told = (await findings(it.path, env))['agent'];
  expect(told?.more).toEqual(['https_proxy is set: the agent openai connects directly, without it']);
  expect((await findings(it.path, { ...env, https_proxy: '' }))['agent']?.more).toEqual([]);
  expect((await findings(it.path, { ...env, FACTORY_AGENT: 'stub' }))['agent']?.more).toEqual([]);
});

test('a word for the sandbox that is none stops every run, and is told', async () => {
  await using it = await house({});
  const found = await findings(it.path, { PATH: path, FACTORY_SANDBOX: 'strong' });
  expect(found['sandbox']).toMatchObject({ state: 'bad' });
  expect(found['sandbox']?.says).toContain('FACTORY_SANDBOX is "strong"');
  const needed = await findings(it.path, { PATH: join(it.path, 'empty'), FACTORY_SANDBOX: 'bwrap' });
  expect(needed['sandbox']).toMatchObject({ state: 'bad' });
});
