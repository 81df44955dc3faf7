import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { call } from '../support/verb.ts';

test('only its user reads the unit of a worker, whose target of notices may have a secret in its path', async () => {
  const home = mkdtempSync(join(tmpdir(), 'factory-install-'));
  try {
    const flags = { install: true, notify: 'https://hooks.example.org/T1/secret' };
    const { code, err } = await call(['keep'], flags, {
      cwd: home,
      env: { HOME: home, PATH: '/nonexistent' },
    });
    expect([code, err]).toEqual([0, '']);
    const units = readdirSync(home, { recursive: true, encoding: 'utf8' })
      .map((name) => statSync(join(home, name)))
      .filter((is) => is.isFile());
    expect(units.map(({ mode }) => mode & 0o777)).toEqual([0o600]);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
