/** A machine without a temporary folder: minimal containers have none. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home, root } from '../support/cli.ts';
import { noBwrap } from '../system/sandbox/machine.ts';

test.skipIf(noBwrap !== undefined)('doctor does not take the folder above for one', async () => {
  await using it = await home({ x: '' });
  const others = readdirSync('/').filter((name) => !['tmp', 'proc', 'dev', 'sys'].includes(name));
  const { stdout, status } = spawnSync(
    'bwrap',
    [
      ...others.flatMap((name) => ['--ro-bind', `/${name}`, `/${name}`]),
      ...['--proc', '/proc', '--dev', '/dev', '--ro-bind', root, '/factory', '--bind', it.path, '/place'],
      ...['--ro-bind', process.execPath, '/node', '--chdir', '/place'],
      ...['/node', join('/factory', 'dist/cli.js'), 'doctor'],
    ],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', HOME: '/place' } },
  );
  expect(stdout).toContain('✗ temporary /tmp: there is no such folder\n');
  expect(stdout).toContain('to be mended: temporary\n');
  expect(status).toBe(1);
});
