import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { expect, test } from 'vitest';

test('the engine that runs us knows every flag that is set', async () => {
  const source = await readFile(join(import.meta.dirname, '../../src/system/memory.ts'), 'utf8');
  const { code } = await transform(source, { loader: 'ts', format: 'esm' });
  const use = `keepNurserySmall(); globalThis.large = Array.from({ length: 8_000_000 }, (_, i) => i / 3);
    keepSmall(); keepNurseryAsItWas();`;
  const args = ['--input-type=module', '--eval', `${code}\n${use}`];
  // An unknown flag throws nothing, and ends nothing: it is told on standard error.
  expect(await promisify(execFile)(process.execPath, args)).toEqual({ stdout: '', stderr: '' });
});
