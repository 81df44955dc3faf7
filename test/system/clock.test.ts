import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { expect, test } from 'vitest';

test('a wait that is over before it begins prints nothing', async () => {
  const source = await readFile(join(import.meta.dirname, '../../src/system/clock.ts'), 'utf8');
  const { code } = await transform(source, { loader: 'ts', format: 'esm' });
  const args = ['--input-type=module', '--eval', `${code}\nawait realClock.sleep(0);`];
  // Newer Nodes warn on standard error of a timer that is given a negative time.
  expect(await promisify(execFile)(process.execPath, args)).toEqual({ stdout: '', stderr: '' });
});
