/** The agent openai with tools in whole runs, through the built command line, against a model server on loopback. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const call = (name: string, args: object) => ({ name, arguments: args });
const calls = (...all: ReturnType<typeof call>[]): Reaction => ({ calls: all });
const finish = calls(call('finish', { outcome: 'success', notes: 'did it', context_updates: { 'a.b': 1 } }));

const pipeline = (attributes: string) => `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  a [prompt="Do it", agent.mode=agent, ${attributes}]
  start -> a
  a -> exit [condition="outcome=success"]
}`;
const files = (attributes: string) => ({
  'p.dot': pipeline(attributes),
  'w/scripts/scenarios/judge.sh': 'the real judge\n',
  'w/src/main.txt': 'main\n',
});
const run = ['run', 'p.dot', '--run-id', 'r1', '--workdir', 'w'];
const env = (url: string) => ({ OPENAI_API_KEY: 'sk-0123456789abcdef', OPENAI_BASE_URL: url });

test('tool calls are visible in the workspace, the events, the transcript and the context', async () => {
  await using server = await startModelServer(
    [
      calls(call('write', { path: 'src/new.txt', content: 'new\n' })),
      calls(call('run', { command: 'cat src/new.txt scripts/scenarios/judge.sh' })),
      finish,
    ],
    ['chat'],
  );
  await using it = await home(files('allowed_write_paths="src/"'));
  const ran = await it.factory(run, { env: env(server.url) });
  expect(ran).toMatchObject({ code: 0 });
  const dir = '.factory/runs/r1';
  expect(await it.read(`${dir}/workspace/src/new.txt`)).toBe('new\n');
  expect(await it.read(`${dir}/workspace/scripts/scenarios/judge.sh`)).toBe('the real judge\n');
  expect(await it.json(`${dir}/a/workspace.diff.json`)).toMatchObject({ created: ['src/new.txt'] });
  const acted = (await it.records(`${dir}/events.jsonl`)).filter(({ type }) => type === 'AgentActed');
  expect(acted).toMatchObject([
    { action: 'file_change', detail: 'src/new.txt', status: 'completed' },
    { action: 'command', status: 'completed' },
  ]);
  const record = await it.records(`${dir}/a/openai.transcript.jsonl`);
  expect(record.filter(({ type }) => type === 'call').map(({ result }) => result)).toEqual([
    expect.stringContaining('src/new.txt: written'),
    expect.stringMatching(/^exit code 1\nstdout \(4 bytes\):\nnew\nstderr/),
  ]);
  expect(await it.json(`${dir}/a/usage.json`)).toMatchObject({ input_tokens: 33, output_tokens: 21 });
  expect(await it.json(`${dir}/a/response.md`)).toMatchObject({ outcome: 'success', notes: 'did it' });
});

test('writes of a program outside the scope are undone and fail the node', async () => {
  await using server = await startModelServer([
    calls(call('run', { command: "sh -c 'echo x > free.txt'" })),
    finish,
  ]);
  await using it = await home(files('allowed_write_paths="src/"'));
  const ran = await it.factory(run, { env: env(server.url) });
  expect(ran).toMatchObject({ code: 1 });
  expect(existsSync(join(it.path, '.factory/runs/r1/workspace/free.txt'))).toBe(false);
  expect(await it.json('.factory/runs/r1/a/status.json')).toMatchObject({ failure_class: 'guardrail' });
});

test('a run killed in the middle of a session repeats it from the checkpoint when it is resumed', async () => {
  let first = true;
  await using server = await startModelServer((request) => {
    const said = JSON.stringify(request.body?.['input']);
    if (!said.includes('function_call_output'))
      return calls(call('write', { path: 'src/new.txt', content: first ? 'half\n' : 'whole\n' }));
    if (!first) return finish;
    first = false;
    return { hang: true };
  });
  await using it = await home(files(''));
  const watching = it.program(run, {
    env: env(server.url),
    watch: (_, factory) => void server.arrived(2).then(() => factory.kill('SIGKILL')),
  });
  expect((await watching).signal).toBe('SIGKILL');
  const resumed = await it.factory(['resume', 'r1'], { env: env(server.url) });
  expect(resumed).toMatchObject({ code: 0 });
  expect(await it.read('.factory/runs/r1/workspace/src/new.txt')).toBe('whole\n');
});

test('invalid values in a pipeline are found before it runs', async () => {
  await using it = await home(files('openai.tools="read,wirte", max_turns=0, openai.api=rest'));
  const checked = await it.factory(['validate', 'p.dot']);
  expect(checked.code).toBe(2);
  for (const words of [
    'names "wirte", which is none of read, list',
    'max_turns',
    'is none of auto, responses, chat',
  ])
    expect(checked.stdout + checked.stderr).toContain(words);
});
