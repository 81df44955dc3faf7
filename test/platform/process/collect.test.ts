/** Programs that we call ourselves: every end is an answer. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { collect } from '../../../src/platform/process/collect.ts';
import { processFacts } from '../../../src/platform/process/table.ts';
import { home, root } from '../../support/cli.ts';

const env = { PATH: process.env['PATH'] ?? '' };
const sh = (text: string, more = {}) => collect('sh', ['-c', text], { cwd: '/', env, ...more });
const bytes = (text: string) => Buffer.from(text);

test.for([
  [
    'an exit code with both streams',
    'echo out; echo bad >&2; exit 3',
    {},
    { code: 3, stdout: 'out\n', stderr: 'bad\n' },
  ],
  ['its standard input', 'cat', { input: 'given' }, { code: 0, stdout: 'given', stderr: '' }],
  ['empty standard input without one', 'cat', {}, { code: 0, stdout: '', stderr: '' }],
  [
    'the exit code of a program that does not read its input',
    'exit 4',
    { input: 'x'.repeat(1e6) },
    { code: 4, stdout: '', stderr: '' },
  ],
] as const)('a call answers %s', async ([, text, options, { code, stdout, stderr }]) => {
  const expected = { kind: 'exited', code, stdout: bytes(stdout), stderr: bytes(stderr) };
  expect(await sh(text, options)).toEqual(expected);
});

test('a call answers a signal, and a program that is missing', async () => {
  expect(await sh('kill -9 $$')).toEqual({ kind: 'signalled', signal: 'SIGKILL' });
  const missing = await collect('no-such-program', [], { cwd: '/', env });
  expect(missing).toMatchObject({ kind: 'not_started', error: { code: 'ENOENT' } });
});

test('a call reads its input from a file', async () => {
  await using it = await home({ 'in.txt': 'from a file' });
  const ended = await sh('cat', { inputFile: join(it.path, 'in.txt') });
  expect(ended).toMatchObject({ kind: 'exited', stdout: bytes('from a file') });
});

test('a program is ended when the process that called it exits', async () => {
  await using it = await home({});
  const caller = `
    import { existsSync, readFileSync } from 'node:fs';
    import { collect } from './collect.ts';
    const [, , pidFile, pipe] = process.argv;
    void collect('sh', ['-c', 'echo $$ > "$1"; exec cat "$2"', 'sh', pidFile, pipe], { cwd: '.', env: process.env });
    const look = () => {
      if (existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\\n')) process.exit(0);
      setImmediate(look);
    };
    look();`;
  await build({
    stdin: { contents: caller, resolveDir: join(root, 'src/platform/process'), loader: 'ts' },
    outfile: join(it.path, 'caller.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  });
  execFileSync('mkfifo', [join(it.path, 'pipe')]);
  execFileSync(process.execPath, ['caller.mjs', 'pid', 'pipe'], { cwd: it.path, stdio: 'ignore' });
  const pid = Number(await it.read('pid'));
  await expect.poll(() => processFacts(pid)?.alive ?? false).toBe(false);
});
