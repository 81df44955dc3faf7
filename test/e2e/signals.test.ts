/** Signals and closed output: a run stops in order, at once, or not at all, and can always be resumed. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isAlive, processId } from '../../src/platform/process/table.ts';
import { cleanEnv, cli, home, type Options } from '../support/cli.ts';

const patient = { timeout: 30_000, interval: 5 };
const stage = (command: string, more = '') => `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="${command}"${more}]
  exit [shape=Msquare]
  start -> one
  one -> exit [condition="outcome=success"]
}`;
const deaf = `trap '' TERM INT HUP; echo $$ > $FLAG.part; mv $FLAG.part $FLAG; while :; do sleep 1000; done`;
/** Sends `signal` to factory as soon as the node has written the file `flag`. */
const endedAtFlag =
  (flag: string, signal: NodeJS.Signals): NonNullable<Options['watch']> =>
  (line, engine) => {
    if (line.includes('node started node=one'))
      void vi.waitFor(() => expect(existsSync(flag)).toBe(true), patient).then(() => engine.kill(signal));
  };
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

test('a second signal ends a run at once, although the node ignores signals, and the run can be resumed', async () => {
  await using it = await home({ 'p.dot': stage(`if [ ! -e $FLAG ]; then ${deaf}; fi`) });
  const env = { FLAG: join(it.path, 'flag') };
  const gone = () => vi.waitFor(() => expect(existsSync(env.FLAG)).toBe(true), patient);
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    env,
    watch: (line, engine) => {
      if (line.includes('node started node=one')) void gone().then(() => engine.kill('SIGTERM'));
      if (line.includes('a second signal stops at once')) engine.kill('SIGINT');
    },
  });
  expect(ran.code).toBe(130);
  expect(lastLine(ran.stderr)).toMatch(/^node \S.+cli\.js'? resume r1$/);
  const id = processId(Number(readFileSync(env.FLAG, 'utf8')));
  // It was killed without waiting, because factory had to end at once.
  await vi.waitFor(() => expect(id !== undefined && isAlive(id)).toBe(false));
  const resumed = await it.factory(['resume', 'r1'], { env });
  expect(resumed.code, resumed.stderr).toBe(0);
});

test('a terminal that hangs up in the delay before a retry stops the run in order', async () => {
  await using it = await home({
    'p.dot': stage('exit 1', ', retry_on=fail, max_retries=3, retry_delay=3h, retry_max_delay=3h'),
  });
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    watch: (line, engine) => {
      if (line.includes('requested a retry')) engine.kill('SIGHUP');
    },
  });
  expect(ran.code).toBe(130);
  expect(lastLine(ran.stdout)).toMatch(/next +node \S.+cli\.js'? resume r1$/);
  expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject({
    status: 'interrupted',
    next_node: 'one',
  });
  expect(await it.json('.factory/runs/r1/lock/000001.json')).toMatchObject({ released: expect.any(String) });
});

test('output that is closed early changes nothing about a run', async () => {
  await using it = await home({
    'p.dot': stage('until [ -e $FLAG ] || [ ! -e ${FLAG%/*} ]; do sleep 0.02; done'),
  });
  const env = cleanEnv({ HOME: it.path, FLAG: join(it.path, 'flag'), FACTORY_LOG_LEVEL: 'debug' });
  const engine = spawn(process.execPath, [cli, 'run', 'p.dot', '--run-id', 'r1'], {
    cwd: it.path,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(engine, 'exit');
  await once(engine.stderr, 'data');
  engine.stdout.destroy();
  engine.stderr.destroy();
  const { writeFile } = await import('node:fs/promises');
  await writeFile(join(it.path, 'flag'), '');
  expect(await ended).toEqual([0, null]);
  expect(await it.json('.factory/runs/r1/result.json')).toMatchObject({ status: 'completed' });
});

test('another signal that ends programs, such as SIGXCPU, stops a run in order, with its node', async () => {
  await using it = await home({
    'p.dot': stage('echo $$ > $FLAG.part; mv $FLAG.part $FLAG; exec sleep 1000'),
  });
  const env = { FLAG: join(it.path, 'flag') };
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    env,
    watch: endedAtFlag(env.FLAG, 'SIGXCPU'),
  });
  expect(ran, ran.stderr).toMatchObject({ code: 130, signal: null });
  expect(await it.json('.factory/runs/r1/result.json')).toMatchObject({
    status: 'interrupted',
    reason: 'interrupted by SIGXCPU',
  });
  const id = processId(Number(readFileSync(env.FLAG, 'utf8')));
  expect(id !== undefined && isAlive(id)).toBe(false);
});

test("SIGUSR1 does not open Node's debugger during a run", async () => {
  await using it = await home({ 'p.dot': stage('sleep 0.7') });
  const ran = await it.factory(['run', 'p.dot'], {
    watch: (line, engine) => {
      if (line.includes('node started node=one')) engine.kill('SIGUSR1');
    },
  });
  expect(ran).toMatchObject({ code: 0, signal: null });
  expect(ran.stderr).not.toContain('Debugger');
});

test('SIGQUIT ends a run and its current node at once', async () => {
  await using it = await home({ 'p.dot': stage(deaf) });
  const env = { FLAG: join(it.path, 'flag') };
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
    env,
    watch: endedAtFlag(env.FLAG, 'SIGQUIT'),
  });
  expect(ran.code).toBe(130);
  expect(lastLine(ran.stderr)).toMatch(/resume r1$/);
  const id = processId(Number(readFileSync(env.FLAG, 'utf8')));
  await vi.waitFor(() => expect(id !== undefined && isAlive(id)).toBe(false));
});

const noScript = process.platform !== 'linux' || spawnSync('script', ['--version']).status !== 0;

test.skipIf(noScript)('Ctrl-C at a question ends the process as an interrupted one', async () => {
  const gate = 'one [shape=hexagon]; start -> one; one -> exit [label=Approve]';
  await using it = await home({
    'p.dot': `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]; ${gate} }`,
  });
  const inside = `"${process.execPath}" "${cli}" run p.dot --run-id r1; echo $? > code`;
  const env = cleanEnv({ HOME: it.path, TERM: 'xterm' });
  const window = spawn('script', ['-qec', inside, '/dev/null'], { cwd: it.path, env });
  let shown = '';
  window.stdout.on('data', (piece: Buffer) => {
    if (shown.includes('then Enter')) return;
    shown += piece;
    if (shown.includes('then Enter')) setImmediate(() => window.stdin.write('\x03'));
  });
  await once(window, 'close');
  expect(await it.read('code')).toBe('130\n');
  expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject({ status: 'paused_answer' });
});

test.skipIf(noScript)(
  'a terminal window that is closed stops the run in order, and nothing aborts',
  async () => {
    await using it = await home({ 'p.dot': stage('touch $FLAG; exec sleep 1000') });
    const env = { HOME: it.path, FLAG: join(it.path, 'flag') };
    // The shell gets the signal and passes it on, as an interactive one would.
    const inside = `trap 'kill -HUP $!' HUP; "${process.execPath}" "${cli}" run p.dot --run-id r1 & wait; wait $!; echo $? > code`;
    const window = spawn('script', ['-qec', inside, '/dev/null'], { cwd: it.path, env: cleanEnv(env) });
    await vi.waitFor(() => expect(existsSync(env.FLAG)).toBe(true), patient);
    window.kill('SIGKILL');
    await vi.waitFor(async () => expect(await it.read('code').catch(() => '')).toBe('130\n'), patient);
    expect(await it.json('.factory/runs/r1/checkpoint.json')).toMatchObject({ status: 'interrupted' });
  },
);
