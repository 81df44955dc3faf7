import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

describe('the built program', () => {
  it('comes with code that V8 takes as it is', () => {
    const filename = join(root, 'dist/program.cjs');
    const script = new Script(readFileSync(filename, 'latin1'), {
      filename,
      cachedData: readFileSync(join(root, 'dist/program.cache')),
    });
    expect(script.cachedDataRejected).toBe(false);
  });

  it('is ASCII alone, as it is read one byte a character', () => {
    const bytes = readFileSync(join(root, 'dist/program.cjs'));
    expect(bytes.findIndex((byte) => byte > 0x7f)).toBe(-1);
  });

  it.each([
    ['without that code', (dist: string) => rmSync(join(dist, 'program.cache'))],
    [
      'with code that another V8 has made',
      (dist: string) => writeFileSync(join(dist, 'program.cache'), 'made elsewhere'),
    ],
  ])('works %s', (_, change) => {
    const folder = mkdtempSync(join(tmpdir(), 'factory-built-'));
    try {
      cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
      for (const part of ['package.json', 'pipelines'])
        cpSync(join(root, part), join(folder, part), { recursive: true });
      change(join(folder, 'dist'));
      const help = execFileSync(process.execPath, [join(folder, 'dist/cli.js'), 'validate', '--help'], {
        encoding: 'utf8',
      });
      expect(help).toContain('factory validate');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
