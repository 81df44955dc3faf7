/** Machines without the usual folders: minimal containers and chroots. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home, root } from '../support/cli.ts';
import { noBwrap } from '../system/sandbox/machine.ts';

/** This machine without `/tmp`, with the arguments `more`. */
async function doctor(...more: readonly string[]) {
  await using it = await home({ x: '' });
  const others = readdirSync('/').filter((name) => !['tmp', 'proc', 'dev', 'sys'].includes(name));
  return spawnSync(
    'bwrap',
    [
      ...others.flatMap((name) => ['--ro-bind', `/${name}`, `/${name}`]),
      ...['--ro-bind', root, '/factory', '--bind', it.path, '/place', '--ro-bind', process.execPath, '/node'],
      ...['--proc', '/proc', '--chdir', '/place', ...more],
      ...['/node', join('/factory', 'dist/cli.js'), 'doctor'],
    ],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', HOME: '/place' } },
  );
}

test.skipIf(noBwrap !== undefined)(
  'doctor does not accept a parent folder as the temporary folder',
  async () => {
    const { stdout, status } = await doctor('--dev', '/dev');
    expect(stdout).toContain('✗ temporary /tmp: there is no such folder\n');
    expect(stdout).toContain('to be mended: temporary\n');
    expect(status).toBe(1);
  },
);

test.skipIf(noBwrap !== undefined)('without /dev/null, no program is reported as missing', async () => {
  const { stdout } = await doctor('--tmpfs', '/tmp', '--dir', '/dev');
  expect(stdout).toContain('✗ git       this machine has no /dev/null');
  expect(stdout).not.toContain('install git');
});
