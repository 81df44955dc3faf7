import { spawn } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { fromPs } from '../../../src/platform/process/table.ts';
import { temp } from '../temp.ts';

/** A program in a separate group, with more words than a terminal has columns. */
function waiting(): { readonly pid: number; readonly words: readonly string[] } {
  const words = [process.execPath, '-e', 'setInterval(Object,1e6)', 'x'.repeat(200), 'last'];
  const child = spawn(words[0] ?? '', words.slice(1), { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { pid: child.pid ?? 0, words };
}

test('ps tells a command line as a whole, however narrow the terminal is', () => {
  const { pid, words } = waiting();
  vi.stubEnv('COLUMNS', '40');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(fromPs(pid)).toMatchObject([{ args: words }]);
});

test('where a program stands is asked of lsof', async () => {
  await using it = await temp();
  const { pid, words } = waiting();
  const lsof = join(it.dir, 'lsof');
  await writeFile(
    lsof,
    `#!/bin/sh\n[ "$*" = '-a -d cwd -p ${pid} -Fn' ] && printf 'p${pid}\\nfcwd\\nn/a b\\n'\nexit 1\n`,
  );
  await chmod(lsof, 0o755);
  vi.stubEnv('PATH', `${it.dir}${delimiter}${process.env['PATH']}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(fromPs(pid)).toEqual([{ args: words, cwd: '/a b' }]);
});
