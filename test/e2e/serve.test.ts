/** `factory serve` as a process: what it starts outlives it. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createClient } from '../../src/web/client.ts';
import { cleanEnv, cli, home } from '../support/cli.ts';

const patient = { timeout: 30_000, interval: 20 };
/** The node runs until the file exists. */
const pipeline = `digraph g {
  workdir="none"
  vars="name, greeting=hello"
  start [shape=Mdiamond]
  wait [shape=parallelogram, tool_command="touch $FLAG.began; while [ ! -e $FLAG ]; do sleep 0.05; done; echo \${var.name} \${var.greeting}"]
  exit [shape=Msquare]
  start -> wait -> exit
}`;

test('runs are started, stopped, resumed and forked through the API, and outlive the server', async () => {
  await using it = await home({ 'p.dot': pipeline });
  const flag = join(it.path, 'flag');
  const server = spawn(process.execPath, [cli, 'serve', '--port', '0'], {
    ...{ cwd: it.path, env: cleanEnv({ HOME: it.path, FLAG: flag }), stdio: ['ignore', 'pipe', 'inherit'] },
  });
  // A failed test leaves neither the server nor the run behind.
  await using _ = {
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL');
      writeFileSync(flag, '');
    },
  };
  const ended = new Promise<number | null>((done) => server.once('exit', done));
  const url = await new Promise<string>((found) =>
    server.stdout?.once('data', (text) => found(String(text).trim())),
  );
  const client = createClient({ url });

  await expect(client.start({ body: { pipeline: 'p.dot' } })).rejects.toMatchObject({
    ...{ status: 409, code: 'refused', message: expect.stringContaining('"name" has no default') },
  });
  const started = await client.start({ body: { pipeline: 'p.dot', vars: { name: 'Ada', greeting: 'a b' } } });
  const id = started.run_id;
  expect(started.command).toMatch(/ run p\.dot --var name=Ada --var 'greeting=a b'$/);
  const run = { params: { id } };
  await vi.waitFor(() => expect(existsSync(`${flag}.began`)).toBe(true), patient);
  expect(await client.run(run)).toMatchObject({ status: 'running', acts: ['stop'], at_node: 'wait' });

  await client.stop({ ...run, body: {} });
  await vi.waitFor(async () => expect((await client.run(run)).status).toBe('interrupted'), patient);
  const fork = await client.fork({ ...run, body: { at: 'start', before: false } });
  expect(await client.run({ params: { id: fork.run_id } })).toMatchObject({
    ...{ status: 'running', forked_from: { run_id: id, node: 'start', before: false } },
  });
  expect(await client.resume({ ...run, body: {} })).toMatchObject({
    ...{ run_id: id, command: expect.stringMatching(` resume ${id}$`) },
  });
  await vi.waitFor(async () => expect((await client.run(run)).status).toBe('running'), patient);
  await expect(client.resume({ ...run, body: {} })).rejects.toMatchObject({ status: 409 });

  server.kill('SIGINT');
  expect(await ended).toBe(0);
  writeFileSync(flag, '');
  for (const one of [id, fork.run_id]) {
    const result = join(it.path, '.factory/runs', one, 'result.json');
    await vi.waitFor(() => expect(readFileSync(result, 'utf8')).toContain('"completed"'), patient);
  }
  expect((await it.factory(['verify', id])).code).toBe(0);
  expect(await it.records(join('.factory/runs', id, 'acts.jsonl'))).toMatchObject([
    { who: 'page', what: 'start', pipeline: 'p.dot' },
    { who: 'page', what: 'stop' },
    { who: 'page', what: 'fork', at: 'start', run_id: fork.run_id },
    { who: 'page', what: 'resume' },
  ]);
});
