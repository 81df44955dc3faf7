import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { claudeAgent, claudePlace } from '../../src/agents/claude.ts';
import type { AgentReport } from '../../src/core/contracts/agent.ts';
import { handClock } from '../support/clock.ts';
import { keepsTheAgentContract, wellFormed } from './contract.ts';
import { inPlace, programTask } from './program-task.ts';

const standIn = join(import.meta.dirname, '../support/agent-stand-in.sh');

/** Claude in its own workspace, with the stand-in doing what `does` says. */
async function claude(
  does: string,
  {
    attributes = {},
    env = {},
    files = {},
    clock = handClock(0),
  }: {
    readonly attributes?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
    readonly files?: Readonly<Record<string, string>>;
    readonly clock?: ReturnType<typeof handClock>;
  } = {},
) {
  const it = await programTask(files, { STAND_IN: does, ...env });
  it.env['SEEN'] = join(it.nodeDir, 'seen');
  const agent = claudeAgent({ env: it.env, clock });
  const named = { 'claude.path': standIn, ...attributes };
  return {
    ...it,
    agent,
    attributes: named,
    work: async (signal = new AbortController().signal): Promise<AgentReport> =>
      wellFormed(await agent.work(it.task({ attributes: named }, signal), signal)),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

keepsTheAgentContract('claude', async () => {
  const good = await claude('ok');
  const endless = await claude('touch "$SEEN/begun"; exec sleep 1000');
  return {
    agent: inPlace(good),
    broken: { agent: inPlace(good), task: { attributes: { 'claude.path': '/nowhere/claude' } } },
    endless: { agent: inPlace(endless), begun: () => endless.made('seen/begun') },
    async [Symbol.asyncDispose]() {
      await good[Symbol.asyncDispose]();
      await endless[Symbol.asyncDispose]();
    },
  };
});

test('it is given the prompt on standard input, its leave, its schema and a quiet place; what it says is shown', async () => {
  const says = `say '{"type":"system","subtype":"init","model":"big-1"}'
    say '{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"All good"}]}}'`;
  await using it = await claude(`${says}; echo oh >&2; did c1 ls; did c2 make true; ok`, {
    files: { 'a.txt': 'a', 'scripts/scenarios/judge.sh': 'j' },
  });
  expect(await it.work()).toMatchObject({
    kind: 'finished',
    outcome: 'success',
    label: 'on',
    notes: 'done',
    usage: { model: 'big-1', input_tokens: 7, output_tokens: 3, cost_usd: 0.25 },
    response: expect.stringContaining('"outcome": "success"'),
  });
  expect(it.read('seen/stdin')).toMatch(/^do it\n\n.*JSON.*\n$/);
  expect(it.lines('seen/cwd')).toEqual([it.workspace]);
  expect(it.lines('seen/files')).toEqual(['./a.txt']);
  const argv = it.lines('seen/argv');
  expect(argv.slice(0, 5)).toEqual(['-p', '--output-format', 'stream-json', '--verbose', '--json-schema']);
  expect(JSON.parse(argv[5] ?? '')).toEqual(JSON.parse(it.read('claude.schema.json')));
  expect(argv.slice(6)).toEqual([
    '--permission-mode',
    'acceptEdits',
    '--allowedTools',
    'Bash,Edit,Write,NotebookEdit',
  ]);
  expect(it.read('claude.args.txt')).toBe(`claude ${argv.join(' ')}\n`);
  expect(it.lines('seen/env')).toEqual(
    expect.arrayContaining(['DISABLE_TELEMETRY=1', 'DISABLE_AUTOUPDATER=1', 'CLAUDECODE=']),
  );
  expect(it.shown.join('')).toBe('hm\nAll good\n$ ls\n$ make\n');
  expect(it.actions.map(({ action, detail, status }) => [action, detail, status])).toEqual([
    ['command', 'ls', 'completed'],
    ['command', 'make', 'failed'],
  ]);
  expect(it.read('claude.stderr.log')).toBe('oh\n');
  expect(JSON.parse(it.read('agent.program.json'))).toMatchObject({
    home: [{ path: it.at('home/.claude'), write: true, empty: true }],
    network: true,
  });
});

test('of its home the program gets its login and, read-only, settings and instructions; sessions are left out', () => {
  const user = mkdtempSync(join(tmpdir(), 'factory-claude-'));
  const own = join(user, '.claude');
  for (const folder of ['agents', 'projects', 'todos', 'skills/mine', 'skills/.own'])
    mkdirSync(join(own, folder), { recursive: true });
  for (const file of ['settings.json', '.credentials.json', 'history.jsonl'])
    writeFileSync(join(own, file), '{}');
  symlinkSync('settings.json', join(own, 'CLAUDE.md'));
  const account = { oauthAccount: 'ada', projects: { '/app': { history: ['do it'] } }, lastSessionId: 'x' };
  for (const folder of [user, own]) writeFileSync(join(folder, '.claude.json'), JSON.stringify(account));
  const place = (name: string, write: boolean) => ({ path: join(own, name), write });
  const all = [
    { path: own, write: true, empty: true },
    place('.credentials.json', true),
    ...['CLAUDE.md', 'agents', 'settings.json', 'skills/mine'].map((name) => place(name, false)),
  ];
  const accountIn = (folder: string) => ({
    path: join(folder, '.claude.json'),
    write: true,
    text: '{\n  "oauthAccount": "ada"\n}\n',
  });
  expect(claudePlace({ CLAUDE_CONFIG_DIR: own }).home).toEqual([...all, accountIn(own)]);
  expect(claudePlace({ HOME: user }).home).toEqual([...all, accountIn(user)]);
  rmSync(user, { recursive: true });
});

test('attributes become arguments, with variables as defaults', async () => {
  await using it = await claude('ok', {
    files: { 'app/x': 'x' },
    attributes: {
      llm_model: 'small',
      reasoning_effort: 'minimal',
      'claude.workdir': 'app',
      'claude.permission_mode': 'plan',
      'claude.max_turns': '7',
      'claude.add_dirs': 'app, /opt/x',
      'claude.settings': '{"a":1}',
      'claude.args': "--append-system-prompt 'two words'",
      'claude.env_keys': 'OTHER_KEY',
    },
    env: {
      FACTORY_CLAUDE_ALLOWED_TOOLS: 'Bash(git *)',
      FACTORY_CLAUDE_PERMISSION_MODE: 'default',
      FACTORY_MODEL: 'unused',
      CLAUDE_CONFIG_DIR: '/tmp/claude-home',
      ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
      ANTHROPIC_API_KEY: 'sk-ant-12345678',
      CLAUDE_CODE_OAUTH_TOKEN: 'oauth-12345678',
      OTHER_KEY: 'other-12345678',
      OPENAI_API_KEY: 'sk-openai-12345678',
    },
  });
  expect((await it.work()).kind).toBe('finished');
  expect(it.lines('seen/argv').slice(6)).toEqual([
    ...['--permission-mode', 'plan', '--allowedTools', 'Bash(git *)', '--model', 'small', '--effort', 'low'],
    ...['--max-turns', '7', '--add-dir', `${it.workspace}/app`, '--add-dir', '/opt/x'],
    ...['--settings', '{"a":1}', '--append-system-prompt', 'two words'],
  ]);
  expect(it.lines('seen/cwd')).toEqual([`${it.workspace}/app`]);
  const env = it.lines('seen/env');
  for (const line of [
    'CLAUDE_CONFIG_DIR=/tmp/claude-home',
    'ANTHROPIC_BASE_URL=http://127.0.0.1:1',
    'ANTHROPIC_API_KEY=sk-ant-12345678',
    'CLAUDE_CODE_OAUTH_TOKEN=oauth-12345678',
    'OTHER_KEY=other-12345678',
  ])
    expect(env).toContain(line);
  expect(env.join('\n')).not.toContain('sk-openai');
});

describe('a setting that cannot be is named before anything starts', () => {
  test.for([
    ['claude.permission_mode', 'yolo', /claude\.permission_mode is "yolo", which is none of acceptEdits/],
    ['FACTORY_CLAUDE_MAX_TURNS', '0', /^FACTORY_CLAUDE_MAX_TURNS is "0"/],
    ['claude.args', "--x 'open", /claude\.args: a single quote is never closed \(at character 5\)/],
    ['FACTORY_CLAUDE_TIMEOUT', 'soon', /^FACTORY_CLAUDE_TIMEOUT is "soon"/],
    ['claude.workdir', 'nowhere', /claude\.workdir: there is no folder/],
    ['FACTORY_CLAUDE_ADD_DIRS', '../x', /^FACTORY_CLAUDE_ADD_DIRS: "\.\.\/x"/],
  ] as const)('%s=%s', async ([name, value, reason]) => {
    const where = name.startsWith('FACTORY') ? 'env' : 'attributes';
    await using it = await claude('ok', { [where]: { [name]: value } });
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'config',
      reason: expect.stringMatching(reason),
    });
  });
});

test('a missing program is reported as missing, for agent lists', async () => {
  await using it = await claude('ok', { attributes: { 'claude.path': '/nowhere/claude' } });
  expect(await it.work()).toMatchObject({ kind: 'failed', class: 'config', missing: true });
});

test('what its permissions did not allow is in the log, in its actions and in its report', async () => {
  const result = {
    ...{ type: 'result', subtype: 'success', is_error: false, result: '{"outcome":"success"}' },
    permission_denials: [
      { tool_name: 'Write', tool_use_id: 't1', tool_input: { file_path: 'probe.txt' } },
      { tool_name: 'Bash', tool_use_id: 't2', tool_input: { command: 'rm x' } },
      { tool_name: 'Task', tool_use_id: 't3' },
    ],
  };
  await using it = await claude(`say '${JSON.stringify(result)}'`);
  expect(await it.work()).toMatchObject({
    kind: 'finished',
    outcome: 'success',
    denied: ['Write probe.txt', 'Bash rm x', 'Task'],
  });
  expect(it.actions).toEqual([
    expect.objectContaining({ action: 'file_change', detail: 'probe.txt', status: 'denied' }),
    expect.objectContaining({ action: 'command', detail: 'rm x', status: 'denied' }),
    expect.objectContaining({ action: 'tool_call', detail: 'Task', status: 'denied' }),
  ]);
  expect(it.logged).toContainEqual({
    level: 'warn',
    message: 'claude was denied the tool Write',
    fields: { detail: 'probe.txt', fix: expect.stringContaining('claude.allowed_tools') },
  });
  await using free = await claude('ok');
  expect(await free.work()).not.toHaveProperty('denied');
});

describe('a program that has finished and does not exit', () => {
  const last =
    '{"type":"result","subtype":"success","is_error":false,"result":"{\\"outcome\\":\\"success\\"}"}';

  test('is ended ten seconds after its final event, and its answer counts', async () => {
    const clock = handClock(0);
    await using it = await claude(`echo $$ > "$SEEN/pid"; say '${last}'; exec sleep 1000`, { clock });
    const ended = it.work();
    // Its heartbeat and its grace.
    await clock.waiting(2);
    clock.advance(10_000);
    expect(await ended).toMatchObject({ kind: 'finished', outcome: 'success' });
    expect(it.isGone('seen/pid')).toBe(true);
    expect(it.logged).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('did not exit') }),
    );
  });

  test('but was woken once more has the time that it needs', async () => {
    const clock = handClock(0);
    const woken = '{"type":"assistant","message":{"content":[{"type":"text","text":"more"}]}}';
    const does = `say '${last}'; say '${woken}'; : > "$SEEN/again"; while [ ! -e "$SEEN/go" ]; do sleep 0.01; done; ok`;
    await using it = await claude(does, { clock });
    const ended = it.work();
    await it.made('seen/again');
    await vi.waitFor(() => expect(it.shown.join('')).toContain('more'));
    clock.advance(10_000);
    writeFileSync(join(it.nodeDir, 'seen/go'), '');
    expect(await ended).toMatchObject({ kind: 'finished', notes: 'done' });
  });

  test('counts with its answer when its time is up before', async () => {
    await using it = await claude(`say '${last}'; exec sleep 1000`, {
      attributes: { 'claude.timeout': '700ms' },
    });
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
  });

  test('is cancelled when the run is', async () => {
    const clock = handClock(0);
    await using it = await claude(`say '${last}'; exec sleep 1000`, { clock });
    const stop = new AbortController();
    const ended = it.work(stop.signal);
    await clock.waiting(2);
    stop.abort();
    expect(await ended).toMatchObject({ kind: 'cancelled' });
  });
});

describe('an answer', () => {
  const result = (more: object) =>
    `say '${JSON.stringify({ type: 'result', subtype: 'success', is_error: false, ...more })}'`;
  const answer = { outcome: 'fail', failure_reason: 'no way' };
  const input = JSON.stringify({
    type: 'assistant',
    message: { content: [{ type: 'tool_use', id: 'x', name: 'StructuredOutput', input: answer }] },
  });

  test.for([
    ['in the last line', result({ structured_output: answer })],
    ["in the call of the tool, of a program that doesn't repeat it", `say '${input}'; ${result({})}`],
    ['in the text', result({ result: JSON.stringify(answer) })],
  ] as const)('is read %s', async ([, does]) => {
    await using it = await claude(does);
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'fail', reason: 'no way' });
    expect(it.actions).toEqual([]);
  });

  test.for([
    ['none', ':', /^claude output missing: .* no result line$/],
    ['an empty one', result({ result: '' }), /^claude output missing: .* no answer$/],
    ['prose', result({ result: 'All done.' }), /^claude output is not valid JSON/],
  ] as const)('of the form %s fails the node with class agent', async ([, does, reason]) => {
    await using it = await claude(does);
    writeFileSync(join(it.nodeDir, 'response.md'), '{"outcome":"success"}');
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'agent',
      reason: expect.stringMatching(reason),
    });
  });
});

test.for<[string, string, object | undefined]>([
  [
    'no tokens at all',
    'is_error":false,"result":"x","usage":{"input_tokens":0,"output_tokens":0}',
    undefined,
  ],
  [
    'an answer that was lost',
    'is_error":true,"result":"x","total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":3}',
    { input_tokens: 7, output_tokens: 3, cost_usd: 0.5, incomplete: true },
  ],
])('the usage of %s', async ([, said, usage]) => {
  const lost = '{"type":"assistant","error":"server_error","message":{"content":[]}}';
  await using it = await claude(`say '${lost}'; say '{"type":"result","subtype":"success","${said}}'`);
  const report = await it.work();
  if (report.kind === 'cancelled') throw new Error('It was cancelled.');
  if (usage === undefined) expect(report.usage).toBeUndefined();
  else expect(report.usage).toMatchObject(usage);
});

test('usage includes subagents, other models and interrupted answers', async () => {
  const of = (inputTokens: number, outputTokens: number, cacheReadInputTokens = 0) => ({
    ...{ inputTokens, outputTokens, cacheReadInputTokens, cacheCreationInputTokens: 1 },
  });
  const line = {
    ...{ type: 'result', subtype: 'success', is_error: false, result: '{"outcome":"success"}' },
    ...{ total_cost_usd: 0.5, usage: { input_tokens: 7, output_tokens: 3 } },
    modelUsage: { 'big-1': of(20, 8, 5), 'small-1': of(100, 40) },
  };
  await using it = await claude(`say '${JSON.stringify(line)}'`);
  expect(await it.work()).toMatchObject({
    usage: { input_tokens: 127, cached_input_tokens: 5, output_tokens: 48, cost_usd: 0.5 },
  });
  await using less = await claude(`say '${JSON.stringify({ ...line, modelUsage: { 'big-1': of(0, 0) } })}'`);
  expect(await less.work()).toMatchObject({ usage: { input_tokens: 7, output_tokens: 3 } });
});

test('plain standard output gives the reason if standard error is empty', async () => {
  const system = '{"type":"system","subtype":"init"}';
  await using it = await claude(`say 'Invalid API key · Please run /login'; say '${system}'; exit 1`);
  expect(await it.work()).toMatchObject({
    reason: 'claude failed: exit status 1: Invalid API key · Please run /login',
  });
});

const failing = (result: object, ...before: readonly object[]) =>
  [...before, { type: 'result', subtype: 'success', is_error: true, ...result }]
    .map((line) => `say '${JSON.stringify(line)}'`)
    .join('; ');
const word = (error: string) => ({ type: 'assistant', error, message: { content: [] } });
const soon = 1_767_225_600 + 60;
const limit = { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: soon } };
const warning = {
  type: 'rate_limit_event',
  rate_limit_info: { status: 'allowed_warning', resetsAt: soon },
};

const auth = { class: 'config', park: { kind: 'auth' } };
const billing = { class: 'config', park: { kind: 'billing' } };
const unsaid = { class: 'infra', park: { kind: 'quota', unsaid: true } };
const down = { class: 'infra', park: { kind: 'outage' } };
const known = { class: 'infra', retryAfterMs: 60_000, park: { kind: 'quota', wakeAtMs: soon * 1000 } };

test.for([
  ['too many turns', failing({ subtype: 'error_max_turns' }), { class: 'agent' }, /claude\.max_turns/],
  ['breaking', failing({ subtype: 'error_during_execution', errors: ['x'] }), { class: 'agent' }, /: x$/],
  ['401', failing({ api_error_status: 401, result: 'bad key' }), auth, /bad key/],
  ['402', failing({ api_error_status: 402 }), billing, /./],
  ['400', failing({ api_error_status: 400, result: 'bad' }), { class: 'agent' }, /bad/],
  ['429', failing({ api_error_status: 429 }), unsaid, /./],
  ['529', failing({ api_error_status: 529 }), down, /./],
  ['503', failing({ api_error_status: 503 }), down, /./],
  ['500', failing({ api_error_status: 500 }), { class: 'infra' }, /./],
  [
    'no connection, in its words',
    failing({ result: 'API Error: Connection error. ECONNREFUSED' }),
    down,
    /./,
  ],
  ['prose about a connection', failing({ result: 'the test says ECONNREFUSED' }), { class: 'agent' }, /./],
  ['no connection', failing({ api_error_status: null }, word('server_error')), down, /./],
  ['no login', failing({}, word('authentication_failed')), auth, /./],
  ['no payment', failing({ api_error_status: 400 }, word('billing_error')), billing, /./],
  ['a quota', failing({ api_error_status: 429 }, limit, word('rate_limit')), known, /./],
  ['a quota after a warning', failing({ api_error_status: 429 }, warning, word('rate_limit')), unsaid, /./],
  ['its own sentence', failing({ result: 'API Error: 401 {"error":1}' }), auth, /./],
  ['a rate limit in words', failing({ result: 'API Error: Rate limit reached' }), unsaid, /./],
  ['prose about a 401', failing({ result: 'I saw API Error: 401' }), { class: 'agent' }, /./],
  ['a full context', failing({ result: 'Context limit reached · /compact' }), { class: 'agent' }, /./],
] as const)('a failure by %s has its class, whatever the exit code', async ([, does, trouble, reason]) => {
  for (const code of [0, 1]) {
    await using it = await claude(`${does}; exit ${code}`);
    const { kind, reason: said, ...rest } = (await it.work()) as Extract<AgentReport, { kind: 'failed' }>;
    expect([kind, said]).toEqual(['failed', expect.stringMatching(reason)]);
    const { response: _, usage: __, model, ...told } = rest;
    expect(told).toEqual(trouble);
    expect(model).toBe(trouble.class === 'infra' || 'park' in trouble ? 'api' : undefined);
  }
});

// The clock of these tests shows midnight UTC, which is also the time in Lisbon then.
test.for([
  ["You've hit your limit · resets 1pm (Europe/Lisbon)", 'quota', 13 * 3_600_000 + 60_000],
  ["You've hit your limit · resets 1:30pm (America/New_York)", 'quota', 18.5 * 3_600_000 + 60_000],
  ['You’ve reached your usage limit · resets Jan 3 at 5pm (UTC)', 'quota', 65 * 3_600_000 + 60_000],
  ['Claude AI usage limit reached|1767229200', 'quota', 3_600_000],
  ['5-hour limit reached ∙ resets 13:00 (Europe/Lisbon)', 'quota', 13 * 3_600_000 + 60_000],
  ["You've hit your weekly limit", 'quota', undefined],
  ['Invalid API key · Please run /login', 'auth', undefined],
  ['Credit balance is too low', 'billing', undefined],
] as const)('a failure before the first event is known by its sentence: %s', async ([said, kind, wait]) => {
  await using it = await claude(`say "${said}"; exit 1`);
  const report = await it.work();
  expect(report).toMatchObject({ kind: 'failed', park: { kind }, model: 'api' });
  expect(report).toHaveProperty('reason', `claude failed: exit status 1: ${said}`);
  expect('retryAfterMs' in report ? report.retryAfterMs : undefined).toBe(wait);
});

test('a failure by a signal reports the usage of its messages as a lower bound', async () => {
  const message = (id: string, output_tokens: number) =>
    `say '${JSON.stringify({ type: 'assistant', message: { id, content: [], usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens } } })}'`;
  await using it = await claude([message('a', 1), message('a', 2), message('b', 3), 'kill -9 $$'].join('; '));
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    usage: { input_tokens: 28, cached_input_tokens: 8, output_tokens: 5, cost_usd: null, incomplete: true },
  });
  await using silent = await claude('kill -9 $$');
  expect(await silent.work()).not.toHaveProperty('usage');
});

test('invalid lines and events are ignored', async () => {
  const odd = ['[]', '{', '{"type":7}', '{"type":"assistant"}', '{"type":"user","message":{"content":"x"}}'];
  const more = [
    '{"type":"assistant","message":{"content":[{"type":"tool_use"}]}}',
    '{"type":"result","usage":"lots"}',
    // Nested too deeply to be read.
    `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"d","input":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}}]}}`,
  ];
  await using it = await claude(
    [...odd, ...more]
      .map((line) => `say '${line}'`)
      .join('; ')
      .concat('; ok'),
  );
  mkdirSync(it.at('unused'));
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
});
