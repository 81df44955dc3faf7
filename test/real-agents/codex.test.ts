/** The real program codex against a model server of ours (`npm run test:system`), with a separate home, so that
 *  nobody's own login is ever touched. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codexAgent } from '../../src/agents/codex.ts';
import { realClock } from '../../src/platform/clock.ts';
import { programTask } from '../agents/program-task.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';
import { realProgram } from '../support/real-programs.ts';
import { onDisk } from '../support/temporary.ts';

// Its own sandbox has a /dev of its own.
onDisk();

const { path: program, skipped } = realProgram('codex');
const answer = (more: object = {}): Reaction => ({
  json: {
    outcome: 'success',
    preferred_next_label: 'on',
    suggested_next_ids: [],
    context_updates: {},
    verification_plan: null,
    notes: 'written',
    failure_reason: '',
    ...more,
  },
});
const shell = (cmd: string): Reaction => ({
  calls: [{ name: 'exec_command', arguments: { cmd, yield_time_ms: 10_000 } }],
});

async function rig(reactions: readonly Reaction[], attributes: Readonly<Record<string, string>> = {}) {
  const server = await startModelServer(reactions);
  const it = await programTask(
    { 'README.md': 'read me', 'scripts/scenarios/judge.sh': 'the-judge' },
    { MOCK_KEY: 'sk-mock-12345678', NODE_EXTRA_CA_CERTS: '' },
  );
  it.env['CODEX_HOME'] = it.at('codex-home');
  mkdirSync(it.at('codex-home'));
  const provider = `{name="mock",base_url="${server.url}",env_key="MOCK_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`;
  const task = {
    'codex.path': program,
    'codex.model': 'mock-model',
    'codex.config_overrides': `model_provider=mock;;model_providers.mock=${provider}`,
    'codex.env_keys': 'MOCK_KEY',
    ...attributes,
  };
  return {
    ...it,
    server,
    work: (signal = new AbortController().signal) =>
      codexAgent({ env: it.env, clock: realClock }).work(it.task({ attributes: task }, signal), signal),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(program === '')(`the real codex${skipped}`, { timeout: 120_000 }, () => {
  test('runs commands, writes files, spends tokens and answers by the schema', async () => {
    await using it = await rig([
      shell('cat README.md; find . -name judge.sh'),
      shell("printf 'hello' > hello.txt"),
      answer(),
    ]);
    expect(await it.work()).toMatchObject({
      kind: 'finished',
      outcome: 'success',
      label: 'on',
      notes: 'written',
      usage: { model: 'mock-model', input_tokens: 33, output_tokens: 21 },
    });
    expect(readFileSync(join(it.workspace, 'hello.txt'), 'utf8')).toBe('hello');
    expect(it.actions.map((one) => one.action)).toEqual(['command', 'command']);
    const [first, second] = it.server.requests;
    expect(first?.headers['authorization']).toBe('Bearer sk-mock-12345678');
    expect(first?.body?.['text']).toMatchObject({ format: { type: 'json_schema', strict: true } });
    expect(JSON.stringify(second?.body)).toContain('read me');
    expect(JSON.stringify(second?.body)).not.toContain('judge.sh\\n');
    expect(existsSync(join(it.workspace, 'scripts/scenarios/judge.sh'))).toBe(true);
  });

  test('works with its home among temporary files', async () => {
    await using it = await rig([shell("printf 'hello' > hello.txt"), answer()]);
    it.env['CODEX_HOME'] = join(it.at('tmp'), 'home');
    mkdirSync(it.env['CODEX_HOME']);
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
    expect(readFileSync(join(it.workspace, 'hello.txt'), 'utf8')).toBe('hello');
  });

  test.for([
    ['401', { status: 401, body: { error: { message: 'bad key' } } }, 'config'],
    ['400', { status: 400, body: { error: { message: 'bad request' } } }, 'agent'],
    ['429', { status: 429, body: { error: { message: 'slow down' } } }, 'infra'],
    ['503', { status: 503, body: { error: { message: 'down' } } }, 'infra'],
    ['a cut stream', { cutAfter: 1 }, 'infra'],
    ['prose in place of the answer', { text: 'All done.' }, 'agent'],
  ] as const)('%s is a failure of its class', async ([, reaction, failureClass]) => {
    await using it = await rig([reaction]);
    expect(await it.work()).toMatchObject({ kind: 'failed', class: failureClass });
  });

  test('that hears nothing is ended when its time is up', async () => {
    await using it = await rig([{ hang: true }], { 'codex.timeout_seconds': '5s' });
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'timeout',
      reason: expect.stringMatching(/after 5s/),
    });
  });
});
