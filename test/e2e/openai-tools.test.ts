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
