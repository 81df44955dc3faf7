/** Signals and closed output: a run stops in order, at once, or not at all, and can always be resumed. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  watch,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { isAlive, processId } from '../../src/system/proc.ts';
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
    if (line.includes('stage started node=one'))
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
      if (line.includes('stage started node=one')) void gone().then(() => engine.kill('SIGTERM'));
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
      if (line.includes('requested retry')) engine.kill('SIGHUP');
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
  await using it = await home({ 'p.dot': stage('until [ -e $FLAG ]; do sleep 0.02; done') });
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

test('a blocked reader of the output does not keep an ended run from exiting on a signal', async () => {
  await using it = await home({ 'p.dot': stage('true') });
  const pipe = join(it.path, 'pipe');
  spawnSync('mkfifo', [pipe]);
  const full = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  expect(() => {
    for (;;) writeSync(full, Buffer.alloc(4096));
  }).toThrow('EAGAIN');
  const engine = spawn(process.execPath, [cli, 'run', 'p.dot', '--run-id', 'r1'], {
    cwd: it.path,
    env: cleanEnv({ HOME: it.path }),
    stdio: ['ignore', 'ignore', full],
  });
  onTestFinished(() => void engine.kill('SIGKILL'));
  const ended = once(engine, 'exit');
  const lock = join(it.path, '.factory/runs/r1/lock/000001.json');
  await vi.waitFor(() => expect(readFileSync(lock, 'utf8')).not.toContain('"released": null'), patient);
  engine.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  closeSync(full);
  expect(await it.json('.factory/runs/r1/result.json')).toMatchObject({ status: 'completed' });
});

test('signals during the cleanup of an ended run do not change its exit code', async () => {
  const storm = `require('node:child_process').spawn('sh', ['-c', 'while kill -TERM $0; do :; done', String(process.pid)],
    { detached: true, stdio: 'ignore' }).unref();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);`;
  await using it = await home({
    'p.dot': stage('true'),
    'storm.cjs': `process.on('exit', () => { if (process.argv.includes('p.dot')) { ${storm} } });`,
  });
  const env = { NODE_OPTIONS: `--require ${join(it.path, 'storm.cjs')}` };
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], { env });
  expect(ran).toMatchObject({ code: 0, signal: null });
  expect(ran.stdout).toContain('success');
});

test.for(['SIGUSR2', 'SIGALRM', 'SIGXCPU'] as const)(
  '%s stops a run in order, with its stage',
  async (signal) => {
    await using it = await home({
      'p.dot': stage('echo $$ > $FLAG.part; mv $FLAG.part $FLAG; exec sleep 1000'),
    });
    const env = { FLAG: join(it.path, 'flag') };
    const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1'], {
      env,
      watch: endedAtFlag(env.FLAG, signal),
    });
    expect(ran, ran.stderr).toMatchObject({ code: 130, signal: null });
    expect(await it.json('.factory/runs/r1/result.json')).toMatchObject({
      status: 'interrupted',
      reason: `interrupted by ${signal}`,
    });
    const id = processId(Number(readFileSync(env.FLAG, 'utf8')));
    expect(id !== undefined && isAlive(id)).toBe(false);
  },
);

test('the signal for a Node report does not stop a run', async () => {
  await using it = await home({ 'p.dot': stage('kill -USR2 $PPID; sleep 0.5') });
  const env = { NODE_OPTIONS: `--report-on-signal --report-directory=${it.path}` };
  const ran = await it.factory(['run', 'p.dot', '--sandbox', 'none'], { env });
  expect(ran, ran.stderr).toMatchObject({ code: 0, signal: null });
  expect(readdirSync(it.path).filter((name) => /^report\..*\.json$/.test(name))).toHaveLength(1);
});

test("SIGUSR1 does not open Node's debugger during a run", async () => {
  await using it = await home({ 'p.dot': stage('sleep 0.7') });
  const ran = await it.factory(['run', 'p.dot'], {
    watch: (line, engine) => {
      if (line.includes('stage started node=one')) engine.kill('SIGUSR1');
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

test.skipIf(process.platform !== 'linux' || spawnSync('script', ['--version']).status !== 0)(
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

test('a killed checkout leaves no partial target folder, and can be repeated', async () => {
  await using it = await home({
    'p.dot': stage('seq -w 1500 | split -l 1 -a 4 - f', ', sandbox=none'),
    'beside/here.txt': 'here\n',
  });
  const ran = await it.factory(['run', 'p.dot', '--run-id', 'r1']);
  expect(ran.code, ran.stderr).toBe(0);
  const checkout = ['checkout', 'r1', 'beside/look'];
  const cut = spawn(process.execPath, [cli, ...checkout], {
    cwd: it.path,
    env: cleanEnv({ HOME: it.path }),
    stdio: 'ignore',
  });
  const ended = once(cut, 'exit');
  // The temporary folder exists long before the last of the files.
  const watcher = watch(join(it.path, 'beside'), () => cut.kill('SIGKILL'));
  expect(await ended).toEqual([null, 'SIGKILL']);
  watcher.close();
  expect(existsSync(join(it.path, 'beside/look'))).toBe(false);
  const again = await it.factory(checkout);
  expect(again.code, again.stderr).toBe(0);
  expect(await it.list('beside/look')).toEqual(await it.list('.factory/runs/r1/workspace'));
  expect(await it.list('beside')).toEqual(['here.txt', 'look']);
});

test('factory waits for a work order from a pipe until a signal ends the wait', async () => {
  await using it = await home({});
  spawnSync('mkfifo', [join(it.path, 'pipe')]);
  const words = ['order', 'run', '--repo', '.', '--work-order', 'pipe'];
  const env = cleanEnv({ HOME: it.path });
  const waiting = spawn(process.execPath, [cli, ...words], { cwd: it.path, env, stdio: 'ignore' });
  onTestFinished(() => void waiting.kill('SIGKILL'));
  const ended = once(waiting, 'exit');
  // Opening for writing succeeds once it reads.
  const end = await vi.waitFor(
    () => openSync(join(it.path, 'pipe'), constants.O_WRONLY | constants.O_NONBLOCK),
    patient,
  );
  onTestFinished(() => closeSync(end));
  waiting.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
});
