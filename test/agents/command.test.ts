import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandAgent } from '../../src/agents/command.ts';
import type { AgentReport } from '../../src/core/contracts/agent.ts';
import { handClock } from '../support/clock.ts';
import { keepsTheAgentContract, wellFormed } from './contract.ts';
import { inPlace, programTask } from './program-task.ts';

// Quoted, since the folder of a checkout may have a space in its name.
const standIn = `'${join(import.meta.dirname, '../support/agent-stand-in.sh')}'`;
const answer = '{"outcome":"partial_success","notes":"half"}';

/** A command in its own workspace; the stand-in does what `does` says. */
async function command(
  does: string,
  {
    attributes = {},
    env = {},
    files = {},
    prompt = 'do it',
  }: {
    readonly attributes?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
    readonly files?: Readonly<Record<string, string>>;
    readonly prompt?: string;
  } = {},
) {
  const it = await programTask(files, { STAND_IN: does, ...env });
  it.env['SEEN'] = join(it.nodeDir, 'seen');
  const agent = commandAgent({ env: it.env, clock: handClock(0) });
  const named = { 'command.run': standIn, ...attributes };
  return {
    ...it,
    agent,
    attributes: named,
    work: async (): Promise<AgentReport> =>
      wellFormed(await agent.work(it.task({ attributes: named, prompt }), new AbortController().signal)),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

keepsTheAgentContract('command', async () => {
  // The test's two tasks share a folder, so that neither can answer by a file of it.
  const good = await command('echo working', { attributes: { response_via: 'none' } });
  const endless = await command('touch "$SEEN/begun"; exec sleep 1000');
  return {
    agent: inPlace(good),
    broken: { agent: inPlace(good), task: { attributes: { 'command.run': '/nowhere/agent' } } },
    endless: { agent: inPlace(endless), begun: () => endless.made('seen/begun') },
    async [Symbol.asyncDispose]() {
      await good[Symbol.asyncDispose]();
      await endless[Symbol.asyncDispose]();
    },
  };
});

describe('the prompt', () => {
  test('comes on standard input, and in a file that the environment names', async () => {
    await using it = await command('cat "$FACTORY_PROMPT_FILE"');
    expect(await it.work()).toEqual({ kind: 'answered', text: 'do it\n' });
    expect(it.read('seen/stdin')).toBe('do it\n');
  });

  test.for([
    ['prompt_via=file', { prompt_via: 'file' }, []],
    ['{prompt_file}', { 'command.run': `${standIn} --in {prompt_file}` }, ['--in', '@/command.prompt.md']],
    ['prompt_via=arg', { 'command.prompt_via': 'arg' }, ['do it']],
    ['{prompt}', { 'command.run': `${standIn} "a {prompt}b"` }, ['a do itb']],
  ] as const)('does not come on standard input with %s', async ([, attributes, argv]) => {
    await using it = await command('echo x', { attributes });
    await it.work();
    expect(it.read('seen/stdin')).toBe('');
    expect(it.lines('seen/argv')).toEqual(argv.map((word) => word.replace('@', it.nodeDir)));
  });

  test('that is too long for an argument is refused, with the way out', async () => {
    await using it = await command('echo x', {
      prompt: 'x'.repeat(200_000),
      attributes: { prompt_via: 'arg' },
    });
    expect(await it.work()).toMatchObject({
      class: 'config',
      reason: expect.stringContaining('prompt_via=file'),
    });
  });

  test('that no argument can hold is refused, with the way out', async () => {
    await using it = await command('echo x', { prompt: 'a\0b', attributes: { prompt_via: 'arg' } });
    expect(await it.work()).toMatchObject({ class: 'config', reason: expect.stringMatching(/NUL.*stdin/) });
    await using other = await command('cat "$SEEN/stdin"', { prompt: 'a\0b' });
    expect(await other.work()).toMatchObject({ kind: 'answered', text: 'a\0b\n' });
  });

  test('asks for the form of the answer only where the node wants JSON', async () => {
    await using it = await command(`echo '${answer}'`, { attributes: { response_format: 'json' } });
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'partial_success' });
    expect(it.read('seen/stdin')).toMatch(/^do it\n\n.*one JSON object.*\nThe schema: \{.*"outcome".*\}\n$/);
  });
});

test('words are split without a shell, placeholders filled in, and everything is named in the environment', async () => {
  await using it = await command('echo x', {
    files: { 'app/f': 'f', 'scripts/scenarios/judge.sh': 'j' },
    attributes: {
      'command.run': `${standIn} 'a  b' "$HOME;" --json={"k":1} {} {response_file} {schema_file} {workspace} {node_dir} m={model}`,
      'command.workdir': 'app',
      'command.env_keys': 'MY_SECRET, SOME_TOKEN',
      'command.home': '~/.agent, /opt/agent:ro',
      network: 'off',
      llm_model: 'big',
      response_via: 'stdout',
    },
    env: { MY_SECRET: 'secret-12345678', SOME_TOKEN: 'token-12345678', OTHER_KEY: 'other-12345678' },
  });
  expect(await it.work()).toEqual({ kind: 'answered', text: 'x\n' });
  expect(it.lines('seen/argv')).toEqual([
    'a  b',
    '$HOME;',
    '--json={k:1}',
    '{}',
    `${it.nodeDir}/response.md`,
    `${it.nodeDir}/command.schema.json`,
    it.workspace,
    it.nodeDir,
    'm=big',
  ]);
  expect(it.lines('seen/cwd')).toEqual([`${it.workspace}/app`]);
  expect(it.lines('seen/files')).toEqual(['./f']);
  const env = it.lines('seen/env');
  for (const line of [
    `FACTORY_PROMPT_FILE=${it.nodeDir}/command.prompt.md`,
    `FACTORY_RESPONSE_FILE=${it.nodeDir}/response.md`,
    `FACTORY_SCHEMA_FILE=${it.nodeDir}/command.schema.json`,
    `FACTORY_USAGE_FILE=${it.nodeDir}/command.usage.json`,
    `FACTORY_WORKSPACE=${it.workspace}`,
    'FACTORY_MODEL=big',
    'MY_SECRET=secret-12345678',
    'SOME_TOKEN=token-12345678',
  ])
    expect(env).toContain(line);
  expect(env.join('\n')).not.toContain('other-1');
  expect(JSON.parse(it.read('agent.program.json'))).toMatchObject({
    keys: ['MY_SECRET', 'SOME_TOKEN'],
    home: [
      { path: it.at('home/.agent'), write: true },
      { path: '/opt/agent', write: false },
    ],
    network: false,
  });
});

const both = `printf '%s' '${answer}' > "$FACTORY_RESPONSE_FILE"; echo from stdout`;
test.for([
  ['the file, where it wrote one', both, {}, { kind: 'finished', outcome: 'partial_success', notes: 'half' }],
  ['its output, where it wrote none', 'echo text', {}, { kind: 'answered', text: 'text\n' }],
  ['its output, when told so', both, { response_via: 'stdout' }, { kind: 'answered', text: 'from stdout\n' }],
  ['JSON on its output', `echo '${answer}'`, {}, { kind: 'finished', outcome: 'partial_success' }],
  ['text, when told so', `echo '${answer}'`, { response_format: 'text' }, { kind: 'answered' }],
  ['prose that quotes an answer', `echo 'I say ${answer}'`, {}, { kind: 'answered' }],
  ['a JSON document for a file', `echo '{"status":"fail"}'`, { response_file: 'x' }, { kind: 'answered' }],
  [
    'a verdict after prose',
    `printf 'Well:\n${answer}'`,
    {},
    { kind: 'finished', outcome: 'partial_success' },
  ],
  ['its exit code alone', 'echo noise', { response_via: 'none' }, { kind: 'finished', outcome: 'success' }],
  [
    'a word and notes',
    'printf "failed\\n\\nno tests\\n"',
    { response_format: 'outcome' },
    { kind: 'finished', outcome: 'fail', reason: 'no tests' },
  ],
] as const)('the answer is %s', async ([, does, attributes, report]) => {
  await using it = await command(does, { attributes });
  expect(await it.work()).toMatchObject(report);
});

test.for([
  ['an old file', ':', { response_via: 'file' }, /wrote no answer/],
  ['no output', ':', {}, /answered nothing/],
  ['a folder', 'mkdir "$FACTORY_RESPONSE_FILE"', {}, /is no plain file/],
  ['a link', 'ln -s /etc/passwd "$FACTORY_RESPONSE_FILE"', {}, /is no plain file/],
  ['Latin-1', `printf 'caf\\351'`, {}, /is not UTF-8 text/],
  ['prose in place of JSON', 'echo done', { response_format: 'json' }, /is not valid JSON/],
  ['another schema', `echo '{"outcome":"all great"}'`, {}, /has the outcome "all great"/],
  ['cut off', `printf '{"outcome":"success","no'`, {}, /is not valid JSON: .* stops in the middle/],
  ['cut off, for a file', `printf '{"outcome":"success","no'`, { response_file: 'x' }, /stops in the middle/],
  ['other words', 'echo all great', { response_format: 'outcome' }, /has the first line "all great"/],
  [
    'a word that no edge names',
    'echo rejected',
    { response_format: 'outcome' },
    /has the first line "rejected"/,
  ],
  [
    'two outcomes',
    'printf "success\\n\\nSTATUS: fail\\n"',
    { response_format: 'outcome' },
    /says two outcomes/,
  ],
  ['an error', 'echo fine; echo "out of cheese" >&2; exit 3', {}, /exit status 3: out of cheese/],
  ['an error, on standard output', 'echo "out of cheese"; exit 3', {}, /exit status 3: out of cheese/],
  ['an error, its exit code alone', 'exit 1', { response_via: 'none' }, /exit status 1/],
] as const)(
  "the answer that is %s fails the stage as the agent's failure",
  async ([, does, attributes, reason]) => {
    await using it = await command(does, { attributes });
    writeFileSync(join(it.nodeDir, 'response.md'), answer);
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'agent',
      reason: expect.stringMatching(reason),
    });
  },
);

test.for([
  ['overloaded_error', true],
  ['API Error: 529 overloaded', true],
  ['unexpected status 503 Service Unavailable', true],
  ['connect ECONNREFUSED 10.0.0.1:443', true],
  ["curl: (6) Couldn't resolve host: api.test", true],
  ['HTTP 400 Bad Request', false],
  ['status 401: the key is wrong', false],
  ['error 500', false],
  ['the model "overload" is unknown', false],
] as const)('a program that fails with "%s" as its last line: an outage is %s', async ([line, is]) => {
  await using it = await command(`echo "${line.replaceAll('"', "'")}" >&2; exit 1`);
  expect(await it.work()).toMatchObject(
    is ? { class: 'infra', park: { kind: 'outage' } } : { class: 'agent' },
  );
});

test.for(['', 'json', 'outcome'])(
  'a goal gate takes no word of the pipeline for its verdict: format "%s"',
  async (format) => {
    const does = format === 'outcome' ? 'echo unsure' : `echo '{"outcome":"unsure"}'`;
    const attributes = { response_format: format };
    await using gate = await command(does, { attributes: { ...attributes, goal_gate: 'true' } });
    expect(await gate.work()).toMatchObject({ kind: 'failed', class: 'agent' });
    await using other = await command(does, { attributes });
    const task = other.task({ attributes: other.attributes, named: [{ test: '=', literal: 'unsure' }] });
    expect(await other.agent.work(task, new AbortController().signal)).toMatchObject({
      kind: 'finished',
      outcome: 'success',
      label: 'unsure',
    });
  },
);

describe('where edges test the outcome of the node', () => {
  const told = async (does: string, attributes = {}) => {
    await using it = await command(does, { attributes });
    const task = it.task({ attributes: { ...it.attributes, ...attributes }, tested: true });
    return wellFormed(await it.agent.work(task, new AbortController().signal));
  };

  test.for(['echo "I\'m sorry, but I can\'t help with that."', 'echo All done.', "echo '{}'"])(
    'an answer without one is no success: %s',
    async (does) => {
      expect(await told(does)).toMatchObject({
        kind: 'failed',
        class: 'agent',
        reason: expect.stringMatching(/gives no outcome, .*response_format=json/),
      });
    },
  );

  test('an answer with one decides, and so does the author who takes any text', async () => {
    expect(await told(`echo '${answer}'`)).toMatchObject({ kind: 'finished', outcome: 'partial_success' });
    expect(await told('echo All done.', { response_format: 'text' })).toMatchObject({ kind: 'answered' });
    expect(await told('echo All done.', { response_file: 'x.md' })).toMatchObject({ kind: 'answered' });
    expect(await told('echo All done.', { response_via: 'none' })).toMatchObject({ outcome: 'success' });
  });
});

describe('what cannot be is named before anything starts', () => {
  test.for([
    [{ 'command.run': '' }, /^command\.run is missing/],
    [{ 'command.run': "x 'y" }, /^command\.run: a single quote is never closed \(at character 3\)/],
    [{ 'command.run': 'x {promt_file}' }, /did you mean \{prompt_file\}\?/],
    [{ 'command.run': 'x {model}' }, /no model is named/],
    [{ 'command.run': '../x' }, /may have neither/],
    [
      { FACTORY_COMMAND_PROMPT_VIA: 'mail' },
      /^FACTORY_COMMAND_PROMPT_VIA is "mail", which is none of stdin, file, arg: /,
    ],
    [{ 'command.home': 'relative' }, /^command\.home: "relative"/],
    [{ 'command.env_keys': 'a b' }, /no name of a variable/],
    [{ 'command.workdir': 'nowhere' }, /there is no folder/],
    [{ 'command.run': 'no-such-program' }, /no directory of PATH has "no-such-program"/],
  ] as const)('%j', async ([words, reason]) => {
    const isVariable = 'FACTORY_COMMAND_PROMPT_VIA' in words;
    await using it = await command('ok', isVariable ? { env: words } : { attributes: words });
    expect(await it.work()).toMatchObject({ class: 'config', reason: expect.stringMatching(reason) });
  });

  test('a folder in place of the program', async () => {
    await using it = await command('ok', { attributes: { 'command.run': './tool' } });
    mkdirSync(join(it.workspace, 'tool'));
    expect(await it.work()).toMatchObject({
      class: 'config',
      missing: true,
      reason: expect.stringContaining('is a directory'),
    });
  });
});

test('FACTORY_COMMAND_RUN names the program for nodes that do not', async () => {
  await using it = await command('echo x', {
    attributes: { 'command.run': '' },
    env: { FACTORY_COMMAND_RUN: standIn, FACTORY_COMMAND_PROMPT_VIA: 'arg' },
  });
  expect(await it.work()).toMatchObject({ kind: 'answered' });
  expect(it.read('seen/argv')).toBe('do it\n');
});

describe('what its calls have used', () => {
  const usage = (text: string) => `printf '%s' '${text}' > "$FACTORY_USAGE_FILE"; echo done`;

  test.for([
    ['{"model":"m1","input_tokens":10,"output_tokens":2,"cost_usd":0.5}', 'm1', 10, 2, 0.5, {}],
    ['{"input_tokens":10,"cached_input_tokens":4}', 'm0', 10, null, null, { cached_input_tokens: 4 }],
    [
      '{"input_tokens":1,"output_tokens":2,"cost_usd":0.1}\n{"model":"m2","input_tokens":3,"output_tokens":4,"cost_usd":0.2}\n',
      'm0, m2',
      4,
      6,
      0.3,
      {},
    ],
    ['{"input_tokens":1,"output_tokens":2}\n{"input_to', 'm0', 1, 2, null, { incomplete: true }],
  ] as const)('is read from the usage file: %s', async ([text, model, input, output, usd, more]) => {
    await using it = await command(usage(text), { attributes: { llm_model: 'm0' } });
    expect(await it.work()).toMatchObject({
      kind: 'answered',
      usage: { model, input_tokens: input, output_tokens: output, cost_usd: usd, ...more },
    });
  });

  test('counts as the least where the command fails or is cut', async () => {
    await using it = await command(`${usage('{"input_tokens":7,"output_tokens":1}')}; exit 4`);
    expect(await it.work()).toMatchObject({ kind: 'failed', usage: { input_tokens: 7 } });
    await using cut = await command(`${usage('{"input_tokens":7,"output_tokens":1}')}; kill -9 $$`);
    expect(await cut.work()).toMatchObject({ kind: 'failed', usage: { input_tokens: 7, incomplete: true } });
  });

  test.for(['', 'twelve', '[1]', '{"input_tokens":-1}', '{"cost_usd":"much"}', '{"input_tokens":1}\n[]\n{}'])(
    'is unknown where the file tells nothing usable: %j',
    async (text) => {
      await using it = await command(usage(text));
      expect(await it.work()).toEqual({ kind: 'answered', text: 'done\n' });
      expect(it.read('command.usage.json')).toBe(text);
    },
  );
});

test('a command that will not end is ended when its own time is up, with what it has answered by then', async () => {
  await using it = await command('echo half > "$FACTORY_RESPONSE_FILE"; exec sleep 1000', {
    attributes: { 'command.timeout': '500ms' },
  });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'timeout',
    reason: 'command timeout after 0.5s (longer: timeout or command.timeout on the node)',
    response: 'half\n',
  });
});
