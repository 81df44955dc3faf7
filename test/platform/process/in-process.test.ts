import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeFileAtomic } from '../../../src/platform/files/write.ts';
import { collect } from '../../../src/platform/process/collect.ts';
import { runInProcess } from '../../../src/platform/process/in-process.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const forever = () => collect('sleep', ['1000'], { cwd: '/', env });

test('work ends with its exit code', async () => {
  expect(await runInProcess(async () => 3, {})).toEqual({ kind: 'exited', code: 3 });
});

test('work at its timeout has its program ended, and writes nothing more', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'factory-in-process-'));
  const path = join(dir, 'late');
  const ended = await runInProcess(
    async () => {
      await forever();
      await writeFileAtomic(path, 'x');
      return 0;
    },
    { timeoutMs: 20 },
  );
  expect(ended).toEqual({ kind: 'timed_out', afterMs: 20 });
  expect(existsSync(path)).toBe(false);
  rmSync(dir, { recursive: true });
});

test('cancelled work has its program ended, whatever it makes of that', async () => {
  const controller = new AbortController();
  const ended = runInProcess(
    async () => {
      const program = forever();
      controller.abort();
      expect(await program).toMatchObject({ kind: 'signalled' });
      return 0;
    },
    { signal: controller.signal },
  );
  expect(await ended).toEqual({ kind: 'cancelled' });
});

test('an error of the work is thrown', async () => {
  await expect(runInProcess(() => Promise.reject(new Error('ours')), {})).rejects.toThrow('ours');
});
