import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { expect, test, vi } from 'vitest';
import { after } from '../../src/platform/clock.ts';

test('a wait that is over before it begins prints nothing', async () => {
  const source = await readFile(join(import.meta.dirname, '../../src/platform/clock.ts'), 'utf8');
  const { code } = await transform(source, { loader: 'ts', format: 'esm' });
  const args = ['--input-type=module', '--eval', `${code}\nawait realClock.sleep(0);`];
  // Newer Nodes warn on standard error of a timer that is given a negative time.
  expect(await promisify(execFile)(process.execPath, args)).toEqual({ stdout: '', stderr: '' });
});

test('what is to be done in more days than a timer can wait is done then, and not before', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] });
  try {
    const day = 86_400_000;
    const done: string[] = [];
    after(60 * day, () => done.push('late'));
    const never = after(60 * day, () => done.push('never'));
    vi.advanceTimersByTime(30 * day);
    never();
    vi.advanceTimersByTime(30 * day - 1);
    expect(done).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(done).toEqual(['late']);
  } finally {
    vi.useRealTimers();
  }
});
