/** The real program claude against a model server of ours (`npm run test:system`), with a separate home, so that
 *  nobody's own login is ever touched. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { claudeAgent } from '../../src/agents/claude.ts';
import { realClock } from '../../src/platform/clock.ts';
import { programTask } from '../agents/program-task.ts';
import { type MessageReaction, startMessagesServer } from '../support/messages-server.ts';
import { realProgram } from '../support/real-programs.ts';

const { path: program } = realProgram('claude');
const call = (name: string, input: object): MessageReaction => ({ calls: [{ name, input }] });
const bash = (command: string) => call('Bash', { command, description: 'work' });
const answer = (more: object = {}) =>
  call('StructuredOutput', {
    outcome: 'success',
    preferred_next_label: 'on',
    suggested_next_ids: [],
    context_updates: {},
    verification_plan: null,
    notes: 'written',
    failure_reason: '',
    ...more,
  });

async function rig(
  reactions: readonly MessageReaction[],
  attributes: Readonly<Record<string, string>> = {},
  env: Readonly<Record<string, string>> = {},
) {
  const server = await startMessagesServer(reactions);
  const it = await programTask(
    { 'README.md': 'read me', 'scripts/scenarios/judge.sh': 'the-judge' },
    {
      ANTHROPIC_BASE_URL: server.url,
      ANTHROPIC_API_KEY: 'sk-mock-12345678',
      CLAUDE_CODE_MAX_RETRIES: '0',
      NODE_EXTRA_CA_CERTS: '',
      // A session around the tests must not be taken for the program's own.
      CLAUDECODE: '1',
      ...env,
    },
  );
  it.env['CLAUDE_CONFIG_DIR'] = it.at('claude-home');
  mkdirSync(it.at('claude-home'));
  const named = { 'claude.path': program, 'claude.model': 'mock-model', ...attributes };
  return {
    ...it,
    server,
    work: (signal = new AbortController().signal) =>
      claudeAgent({ env: it.env, clock: realClock }).work(it.task({ attributes: named }, signal), signal),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await it[Symbol.asyncDispose]();
    },
  };
}

test.skipIf(program === '')(
  'the real claude reads, runs commands, writes files, spends tokens and answers by the schema',
  async () => {
    await using it = await rig([
      bash("cat README.md; find . -name judge.sh; printf 'hello' > hello.txt"),
      answer(),
    ]);
    expect(await it.work()).toMatchObject({
      kind: 'finished',
      outcome: 'success',
      label: 'on',
      notes: 'written',
      usage: { model: 'mock-model', input_tokens: 22, output_tokens: 14, cost_usd: expect.any(Number) },
    });
    expect(readFileSync(join(it.workspace, 'hello.txt'), 'utf8')).toBe('hello');
    expect(it.actions).toMatchObject([{ action: 'command', status: 'completed' }]);
    const [first, second] = it.server.requests;
    expect(first?.headers['x-api-key']).toBe('sk-mock-12345678');
    expect(JSON.stringify(first?.body)).toContain('do it');
    expect(JSON.stringify(second?.body)).toContain('read me');
    expect(JSON.stringify(second?.body)).not.toContain('judge.sh\\n');
  },
);

test.skipIf(program === '')('the real claude writes and edits files by its own tools', async () => {
  await using it = await rig([answer()]);
  const file = join(it.workspace, 'new.txt');
  writeFileSync(join(it.workspace, 'old.txt'), 'one\n');
  const edit = {
    file_path: join(it.workspace, 'old.txt'),
    old_string: 'one',
    new_string: 'two',
    replace_all: false,
  };
  await using real = await startMessagesServer([
    call('Write', { file_path: file, content: 'new' }),
    call('Read', { file_path: edit.file_path }),
    call('Edit', edit),
    answer(),
  ]);
  it.env['ANTHROPIC_BASE_URL'] = real.url;
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
  expect(readFileSync(file, 'utf8')).toBe('new');
  expect(readFileSync(edit.file_path, 'utf8')).toBe('two\n');
  expect(it.actions.map((one) => one.action)).toEqual(['file_change', 'tool_call', 'file_change']);
});

const refused = (status: number, type: string): MessageReaction => ({ status, type, message: 'mock' });
test.skipIf(program === '').for([
  ['400', refused(400, 'invalid_request_error'), { class: 'agent' }],
  ['401', refused(401, 'authentication_error'), { class: 'config', park: { kind: 'auth' } }],
  ['429', refused(429, 'rate_limit_error'), { class: 'infra' }],
  ['500', refused(500, 'api_error'), { class: 'infra' }],
  ['a cut stream', { cut: true }, { class: 'infra' }],
  ['prose in place of the answer', { text: 'All done.' }, { class: 'agent' }],
] as const)('the real claude: %s is a failure of its class', async ([, reaction, trouble]) => {
  await using it = await rig([reaction]);
  expect(await it.work()).toMatchObject({ kind: 'failed', ...trouble });
});

test.skipIf(program === '')('the real claude that has no turns left reports it', async () => {
  await using it = await rig([bash('true')], { 'claude.max_turns': '2' });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: expect.stringContaining('claude.max_turns'),
  });
});

test.skipIf(program === '')('the real claude that hears nothing is ended when its time is up', async () => {
  await using it = await rig([{ hang: true }], { 'claude.timeout': '5s' });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'timeout',
    reason: expect.stringMatching(/after 5s/),
  });
});
