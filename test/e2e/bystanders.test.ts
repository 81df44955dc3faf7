/** Only processes of the run are ended: not one that waits for the run, nor a program that used the library and continues. */
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { isAlive, processId } from '../../src/platform/process/table.ts';
import { cleanEnv, home, root } from '../support/in-process.ts';
import { startModelServer } from '../support/model-server.ts';

const linux = process.platform === 'linux';
const patient = { timeout: 30_000, interval: 5 };

/** Runs `p.dot` with the library, starts a separate child process during the node, and then stays alive. */
const program = `
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
const { plainHost, plainFlags, readPipeline, startRun } = await import(process.argv[1]);
const cwd = process.cwd();
let own;
const event = ({ type, node_id }) => {
  if (type === 'StageStarted' && node_id === 'one') {
    const started = setInterval(() => {
      if (!existsSync('begun')) return;
      clearInterval(started);
      own = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
      own.on('exit', (code, signal) => writeFileSync('lost', String(signal)));
      own.on('spawn', () => writeFileSync('own', String(own.pid)));
    }, 1);
  }
};
const env = { ...process.env, CWD: cwd };
const doors = plainHost({ cwd, env, watcher: { event, streamed() {}, output() {}, spent() {} } });
const { graph } = await readPipeline('p.dot', cwd);
const { result } = await startRun(graph, { runsDir: '.factory/runs', runId: 'r' }, plainFlags(), doors);
writeFileSync('ended', result.status);
process.on('SIGTERM', () => { own.kill('SIGKILL'); process.exit(); });
setInterval(() => {}, 1000);
`;

/** Node `one` ends when the program has its child, and leaves a process in another session. */
const pipeline = `digraph g {
  workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="touch $CWD/begun; (setsid sleep 1000 & echo $! > $CWD/hidden); while ! [ -e $CWD/own ]; do :; done; test -e $CWD/good"]
  exit [shape=Msquare]
  start -> one
  one -> exit [condition="outcome=success"]
}`;

test.skipIf(!linux)(
  'a program that used the library keeps its processes, and is not ended by a resume of the run',
  async () => {
    await using it = await home({ 'p.dot': pipeline });
    const args = ['--input-type=module', '-e', program, join(root, 'dist/index.mjs')];
    const env = cleanEnv({ HOME: it.path });
    const host = spawn(process.execPath, args, { cwd: it.path, env, stdio: 'ignore' });
    const over = new Promise((done) => host.once('exit', (code) => done(code)));
    try {
      // The file exists before it has its text.
      const ended = () => (existsSync(join(it.path, 'ended')) ? it.read('ended') : undefined);
      await vi.waitFor(async () => expect(await ended()).toBe('failed'), patient);
      const hidden = processId(Number(await it.read('hidden')));
      expect(hidden !== undefined && isAlive(hidden)).toBe(false);
      writeFileSync(join(it.path, 'good'), '');
      const told = await it.factory(['resume', 'r'], { env: { CWD: it.path } });
      expect(told.code, told.stderr).toBe(0);
      expect(told.stderr).not.toContain('ended processes');
      expect({ host: host.exitCode ?? host.signalCode, own: existsSync(join(it.path, 'lost')) }).toEqual({
        host: null,
        own: false,
      });
    } finally {
      host.kill('SIGTERM');
      await over;
    }
  },
);

test('a process that waits for a suspended run is not ended by a resume of the run', async () => {
  await using it = await home({
    'p.dot':
      'digraph g { workdir="none"; start [shape=Mdiamond]; a [prompt=x]; end [shape=Msquare]; start -> a -> end }',
  });
  const server = await startModelServer([
    { status: 429, headers: { 'retry-after': '3600' } },
    { text: 'ok' },
  ]);
  const env = { OPENAI_API_KEY: 'sk-waiting-0123456789', OPENAI_BASE_URL: server.url };
  let waits = false;
  let stop = () => {};
  const waiting = it.factory(['run', 'p.dot', '--run-id', 'r', '--wait'], {
    env,
    watch: (line, { kill }) => {
      waits ||= line.includes('waiting for the quota');
      stop = () => kill('SIGTERM');
    },
  });
  try {
    await vi.waitFor(() => expect(waits).toBe(true), patient);
    const told = await it.factory(['resume', 'r', '--now'], { env });
    expect(told.code, told.stderr).toBe(0);
    expect(told.stderr).not.toContain('ended processes');
  } finally {
    stop();
    const { code, signal } = await waiting;
    await server.close();
    expect({ code, signal }).toMatchObject({ signal: null });
  }
});
