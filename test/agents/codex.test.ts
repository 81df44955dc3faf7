import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { codexAgent } from '../../src/agents/codex.ts';
import type { AgentReport } from '../../src/core/contracts/agent.ts';
import { handClock } from '../support/clock.ts';
import { onDisk } from '../support/temporary.ts';
import { keepsTheAgentContract, wellFormed } from './contract.ts';
import { inPlace, programTask } from './program-task.ts';

onDisk();

const standIn = join(import.meta.dirname, '../support/codex-stand-in.sh');

/** Codex in its own workspace, with the stand-in doing what `does` says. */
async function codex(
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
  const agent = codexAgent({ env: it.env, clock });
  const named = { 'codex.path': standIn, ...attributes };
  return {
    ...it,
    agent,
    attributes: named,
    work: async (signal = new AbortController().signal): Promise<AgentReport> =>
      wellFormed(await agent.work(it.task({ attributes: named }, signal), signal)),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

keepsTheAgentContract('codex', async () => {
  const good = await codex('ok');
  const endless = await codex('touch "$SEEN/begun"; exec sleep 1000');
  return {
    agent: inPlace(good),
    broken: { agent: inPlace(good), task: { attributes: { 'codex.path': '/nowhere/codex' } } },
    endless: { agent: inPlace(endless), begun: () => endless.made('seen/begun') },
    async [Symbol.asyncDispose]() {
      await good[Symbol.asyncDispose]();
      await endless[Symbol.asyncDispose]();
    },
  };
});

describe('an answer', () => {
  test('in the file is the report, and the prompt comes on standard input', async () => {
    await using it = await codex('echo thinking; echo warning >&2; ok');
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success', notes: 'done' });
    expect(it.read('seen/stdin')).toMatch(/^do it\n\n.*JSON.*\n$/);
    expect(it.lines('seen/cwd')).toEqual([it.workspace]);
    expect(it.read('codex.stdout.log')).toBe('thinking\n');
    expect(it.read('codex.stderr.log')).toBe('warning\n');
    expect(it.read('codex.args.txt')).toBe(`codex ${it.lines('seen/argv').join(' ')}\n`);
    expect(JSON.parse(it.read('codex.output.schema.json'))).toMatchObject({ additionalProperties: false });
    expect(it.shown.join('')).toBe('thinking\nwarning\n');
    expect(JSON.parse(it.read('agent.program.json'))).toMatchObject({
      cwd: it.workspace,
      keys: [],
      home: [{ path: it.at('home/.codex'), write: true, empty: true }],
      network: true,
    });
  });

  const bad: readonly (readonly [string, string, RegExp])[] = [
    ['nothing', ':', /^codex output missing: .*exit status 0/],
    ['an empty file', ': > "$OUT"', /^codex output is not valid JSON: the answer is empty/],
    [
      'Latin-1',
      `printf '{"outcome":"success","notes":"caf\\351"}' > "$OUT"`,
      /^codex output is not UTF-8 text$/,
    ],
    ['a folder', 'mkdir "$OUT"', /^codex output is no plain file$/],
    ['a link to a file of the system', 'ln -s /etc/passwd "$OUT"', /^codex output is no plain file$/],
    ['a pipe', 'mkfifo "$OUT"', /^codex output is no plain file$/],
    ['a sparse file of 10 GB', 'truncate -s 10G "$OUT"', /^codex output is larger than \d+ bytes$/],
  ];
  test.for(bad)('%s as the answer fails the node with class agent', async ([, does, reason]) => {
    await using it = await codex(does);
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'agent',
      reason: expect.stringMatching(reason),
    });
  });

  test('of an earlier attempt does not count', async () => {
    await using it = await codex(':');
    writeFileSync(join(it.nodeDir, 'response.md'), '{"outcome":"success"}');
    expect(await it.work()).toMatchObject({ kind: 'failed', class: 'agent' });
  });

  test('does not count after another exit code, whose reason has the last line printed', async () => {
    await using it = await codex('echo "disk on fire" >&2; ok; exit 7');
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'agent',
      reason: 'codex exec failed: exit status 7: disk on fire',
      response: expect.stringContaining('success'),
    });
  });
});

describe('a program that cannot be started', () => {
  test.for([
    ['is not there', () => {}, 'configured codex executable not found: '],
    ['is a folder', (at: string) => mkdirSync(at), 'configured codex executable is a directory: '],
    [
      'may not be executed',
      (at: string) => writeFileSync(at, 'x'),
      'configured codex executable is not executable: ',
    ],
  ] as const)('%s: the reason names its path', async ([, make, message]) => {
    await using it = await codex('ok', { attributes: { 'codex.path': 'bin' } });
    const path = it.at('program');
    make(path);
    const report = await it.agent.work(
      it.task({ attributes: { 'codex.path': path } }),
      new AbortController().signal,
    );
    expect(report).toMatchObject({
      kind: 'failed',
      class: 'config',
      reason: `${message}${path} (configured as ${path})`,
    });
  });

  test('is searched on PATH, files without x permission are skipped', async () => {
    await using it = await codex('ok', { attributes: { 'codex.path': 'codex' } });
    // The user of this machine may have a real one.
    it.env['PATH'] = it.at('nowhere');
    expect(await it.work()).toMatchObject({
      class: 'config',
      reason: expect.stringContaining('no directory of PATH has "codex"'),
    });
    for (const folder of ['first', 'second']) mkdirSync(it.at(folder));
    writeFileSync(it.at('first/codex'), 'x');
    it.env['PATH'] = `${it.at('first')}:${it.env['PATH']}`;
    expect(await it.work()).toMatchObject({ class: 'config', reason: expect.stringContaining('chmod +x') });
    copyFileSync(standIn, it.at('second/codex'));
    it.env['PATH'] = `${it.at('first')}:${it.at('second')}:${process.env['PATH']}`;
    expect(await it.work()).toMatchObject({ kind: 'finished' });
  });

  test('has no workdir: the reason names it', async () => {
    await using it = await codex('ok', { attributes: { 'codex.workdir': 'app' } });
    expect(await it.work()).toMatchObject({
      class: 'config',
      reason: expect.stringContaining('codex.workdir'),
    });
  });
});

describe('a program that will not end', () => {
  test('is ended at its timeout with all its processes', async () => {
    await using it = await codex(
      `echo $$ > "$SEEN/pid"; (setsid sh -c 'echo $$ > "$0/deep"; exec sleep 1000' "$SEEN" >/dev/null 2>&1 &); while [ ! -s "$SEEN/deep" ]; do :; done; exec sleep 1000`,
      { attributes: { 'codex.timeout_seconds': '700ms' } },
    );
    expect(await it.work()).toMatchObject({
      kind: 'failed',
      class: 'timeout',
      reason: 'codex exec timeout after 0.7s (longer: timeout or codex.timeout_seconds on the node)',
    });
    expect(it.isGone('seen/pid') && it.isGone('seen/deep')).toBe(true);
    expect(it.logged.at(-1)).toMatchObject({ level: 'warn', message: 'codex exec timed out' });
  });

  test('is reported as running at every heartbeat', async () => {
    const clock = handClock(0);
    await using it = await codex('while [ ! -e "$SEEN/go" ]; do sleep 0.01; done; ok', {
      clock,
      attributes: { 'codex.heartbeat_seconds': '20' },
    });
    const ended = it.work();
    await it.made('seen/files');
    const beats = () => it.logged.filter((line) => line.message === 'codex exec still running');
    for (const count of [1, 2]) {
      await clock.waiting(1);
      clock.advance(20_000);
      await vi.waitFor(() => expect(beats()).toHaveLength(count));
    }
    expect(beats().at(-1)?.fields).toEqual({ elapsed_ms: 40_000 });
    writeFileSync(join(it.nodeDir, 'seen/go'), '');
    expect(await ended).toMatchObject({ kind: 'finished' });
  });
});

test('what the program gets of the secrets only its own keys and those of codex.env_keys, masked in artifacts', async () => {
  await using it = await codex('echo "$OPENAI_API_KEY $MY_CREDENTIAL"; ok', {
    env: {
      OPENAI_API_KEY: 'sk-openai-12345678',
      ANTHROPIC_API_KEY: 'sk-other-12345678',
      MY_CREDENTIAL: 'credential-12345678',
    },
    attributes: {
      'codex.env_keys': 'MY_CREDENTIAL, NOT_THERE',
      'codex.config_overrides': 'a=credential-12345678',
    },
  });
  await it.work();
  const env = it.read('seen/env');
  expect(env).toContain('OPENAI_API_KEY=sk-openai-12345678');
  expect(env).toContain('MY_CREDENTIAL=credential-12345678');
  expect(env).not.toContain('sk-other');
  expect(it.read('codex.stdout.log')).toBe('*** ***\n');
  expect(it.shown.join('')).toBe('*** ***\n');
  expect(JSON.parse(it.read('agent.program.json'))).toMatchObject({
    keys: ['OPENAI_API_KEY', 'MY_CREDENTIAL'],
  });
  expect(it.read('agent.program.json')).not.toContain('credential-1');
});

test('what the program gets of the workspace only its read scope, and files written at hidden paths are undone', async () => {
  const files = { 'scripts/scenarios/judge.sh': 'real', 'README.md': 'r', 'app/main.txt': 'm' };
  await using it = await codex(
    'mkdir -p scripts/scenarios; echo forged > scripts/scenarios/judge.sh; echo new > app/new.txt; ok',
    {
      files,
      attributes: { 'codex.workdir': 'app', 'codex.strict_read_scope': 'true' },
    },
  );
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect(it.lines('seen/files')).toEqual(['./app/main.txt']);
  expect(readFileSync(join(it.workspace, 'scripts/scenarios/judge.sh'), 'utf8')).toBe('real');
  expect(it.inWorkspace().sort()).toEqual(['README.md', 'app', 'scripts']);
  expect(it.conflicts).toEqual(['scripts/scenarios/judge.sh']);
});

test('a strict scope without a folder would hide nothing, and stops it before it starts', async () => {
  for (const env of [{}, { ATTRACTOR_CODEX_STRICT_READ_SCOPE: 'true' }]) {
    await using it = await codex('ok', {
      env,
      attributes: 'ATTRACTOR_CODEX_STRICT_READ_SCOPE' in env ? {} : { 'codex.strict_read_scope': 'true' },
    });
    expect(await it.work()).toMatchObject({
      class: 'config',
      reason: expect.stringMatching(/strict_read_scope hides nothing.*codex\.workdir="app"/),
    });
  }
});

test('what cannot be hidden stops it before it starts', async () => {
  await using it = await codex('ok', { attributes: { 'codex.block_read_paths': 'out/x' } });
  mkdirSync(it.at('elsewhere/x'), { recursive: true });
  symlinkSync('../elsewhere', join(it.workspace, 'out'));
  expect(await it.work()).toMatchObject({
    class: 'config',
    reason: 'cannot start codex: cannot hide "out/x": it leads out of the workspace by a link',
  });
});

const event = (of: object) => `echo '${JSON.stringify(of)}'`;
const did = [
  event({ type: 'thread.started', thread_id: 't' }),
  event({
    type: 'item.started',
    item: { id: '1', type: 'command_execution', command: 'ls', status: 'in_progress' },
  }),
  event({
    type: 'item.completed',
    item: { id: '1', type: 'command_execution', command: 'ls', exit_code: 2, status: 'failed' },
  }),
  event({
    type: 'item.completed',
    item: {
      id: '2',
      type: 'file_change',
      changes: [
        { path: 'a.txt', kind: 'add' },
        { path: 'b.txt', kind: 'update' },
      ],
      status: 'completed',
    },
  }),
  event({ type: 'item.completed', item: { id: '3', type: 'agent_message', text: 'All done' } }),
  event({ type: 'turn.completed', usage: { input_tokens: 5, cached_input_tokens: 2, output_tokens: 3 } }),
].join('; ');

test('its events as JSON lines: give text, actions and usage', async () => {
  await using it = await codex(`${did}; ok`, { attributes: { 'codex.json': 'true', 'codex.model': 'm1' } });
  expect(await it.work()).toMatchObject({
    kind: 'finished',
    usage: { model: 'm1', input_tokens: 5, output_tokens: 3, cost_usd: null },
  });
  expect(it.lines('seen/argv')).toContain('--json');
  expect(it.shown.join('')).toBe('$ ls\nAll done\n');
  expect(it.actions).toEqual([
    { action: 'command', detail: 'ls', status: 'failed (exit 2)' },
    { action: 'file_change', detail: 'a.txt, b.txt', status: 'completed' },
  ]);
});

test('its events as JSON lines: nested too deeply do not hide later lines', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const item = `{"type":"mcp_tool_call","server":"s","tool":"t","arguments":${deep}}`;
  const lines = `{"type":"item.completed","item":${item}}\n{"type":"turn.failed","error":{"message":"no"}}\n`;
  await using it = await codex('cat deep.jsonl; ok', {
    attributes: { 'codex.json': 'true' },
    files: { 'deep.jsonl': lines },
  });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    reason: expect.stringContaining('its turn failed: no'),
  });
});

test.for([0, -1])(
  'its events as JSON lines: zero or negative tokens are unknown usage (%d)',
  async (input_tokens) => {
    const none = event({ type: 'turn.completed', usage: { input_tokens, output_tokens: 0 } });
    await using it = await codex(`${none}; ok`, { attributes: { 'codex.json': 'true' } });
    const report = await it.work();
    expect([report.kind, report.kind === 'finished' && report.usage]).toEqual(['finished', undefined]);
  },
);

const failures: readonly (readonly [string, string, object])[] = [
  [
    'rate limit exceeded: Rate limit reached. Please try again in 11.054s. Visit',
    'infra',
    { retryAfterMs: 11_054 },
  ],
  ['unexpected status 401 Unauthorized: no', 'config', {}],
  ['something else', 'agent', {}],
];
test.for(failures)(
  'a turn that failed with "%s" is of class %s, whatever the exit code and the answer',
  async ([message, failureClass, more]) => {
    for (const code of [0, 1]) {
      await using it = await codex(
        `${event({ type: 'turn.failed', error: { message } })}; ok; exit ${code}`,
        {
          attributes: { 'codex.json': '1' },
        },
      );
      const report = await it.work();
      expect(report).toMatchObject({
        kind: 'failed',
        class: failureClass,
        reason: expect.stringContaining(message),
        ...more,
      });
    }
  },
);

const started = event({ type: 'turn.started' });
const over = event({ type: 'turn.completed', usage: { input_tokens: 5, output_tokens: 3 } });

test('a turn that was started and never ended is a failure, whatever the answer', async () => {
  const attributes = { 'codex.json': '1' };
  await using it = await codex(`${started}; ok`, { attributes });
  expect(await it.work()).toMatchObject({
    kind: 'failed',
    class: 'agent',
    reason: 'codex exec failed: it ended with exit status 0 in the middle of its turn',
  });
  const error = event({ type: 'error', message: 'stream disconnected before completion' });
  await using cut = await codex(`${started}; ${error}; ok`, { attributes });
  expect(await cut.work()).toMatchObject({ class: 'infra', model: 'api' });
  await using second = await codex(`${started}; ${over}; ${started}; ok`, { attributes });
  expect(await second.work()).toMatchObject({ kind: 'failed', usage: { incomplete: true } });
  await using whole = await codex(`${started}; ${over}; ok`, { attributes });
  expect(await whole.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
});

test('a program that does not exit after its turn is ended after ten seconds, and its answer counts', async () => {
  const clock = handClock(0);
  const attributes = { 'codex.json': '1' };
  await using it = await codex(`ok; ${started}; ${over}; exec sleep 1000`, { attributes, clock });
  const ended = it.work();
  await clock.waiting(2);
  clock.advance(9_999);
  await Promise.resolve();
  clock.advance(1);
  expect(await ended).toMatchObject({ kind: 'finished', outcome: 'success', usage: { input_tokens: 5 } });
});

test('a turn after the first takes the time that it needs', async () => {
  const clock = handClock(0);
  const attributes = { 'codex.json': '1' };
  const does = `${started}; ${over}; ${started}; : > "$SEEN/again"; while [ ! -e "$SEEN/go" ]; do sleep 0.01; done; ${over}; ok`;
  await using it = await codex(does, { attributes, clock });
  const ended = it.work();
  await it.made('seen/again');
  await vi.waitFor(() => expect(it.read('codex.stdout.log').match(/turn\.started/g)).toHaveLength(2));
  clock.advance(10_000);
  writeFileSync(join(it.nodeDir, 'seen/go'), '');
  expect(await ended).toMatchObject({ kind: 'finished', usage: { input_tokens: 10 } });
});

test('its events as JSON lines without events the last words say what the provider refused', async () => {
  await using it = await codex('echo "ERROR: unexpected status 401 Unauthorized: no" >&2; exit 1');
  expect(await it.work()).toMatchObject({ class: 'config', park: { kind: 'auth' }, model: 'api' });
});

test('its events as JSON lines: give the reason: the last error, unless an item was completed since', async () => {
  const error = event({ type: 'error', message: 'unexpected status 401 Unauthorized: no' });
  const attributes = { 'codex.json': '1' };
  await using it = await codex(`${error}; exit 1`, { attributes });
  expect(await it.work()).toMatchObject({
    class: 'config',
    reason: 'codex exec failed: exit status 1: unexpected status 401 Unauthorized: no',
  });
  await using late = await codex(`${error}; ${did}; echo broken >&2; exit 1`, { attributes });
  expect(await late.work()).toMatchObject({
    class: 'agent',
    reason: 'codex exec failed: exit status 1: broken',
  });
  await using fine = await codex(`${error}; ok`, { attributes });
  expect(await fine.work()).toMatchObject({ kind: 'finished' });
});

test('FACTORY_LOG_CODEX_STREAM writes each line of either stream to the log', async () => {
  await using it = await codex('printf "one\\rtwo\\nthree"; echo four >&2; ok', {
    env: { FACTORY_LOG_CODEX_STREAM: 'true' },
  });
  await it.work();
  expect(it.logged.filter((line) => line.message === 'codex stream').map((line) => line.fields)).toEqual(
    expect.arrayContaining([
      { stream: 'stdout', text: 'one' },
      { stream: 'stdout', text: 'two' },
      { stream: 'stdout', text: 'three' },
      { stream: 'stderr', text: 'four' },
    ]),
  );
});

test('with its home among temporary files codex gets another TMPDIR', async () => {
  await using it = await codex('ok', { attributes: { 'codex.path': '' } });
  const bin = it.at('node_modules/@openai/codex/bin');
  mkdirSync(bin, { recursive: true });
  copyFileSync(standIn, join(bin, 'codex'));
  chmodSync(join(bin, 'codex'), 0o755);
  it.env['PATH'] = `${bin}:${process.env['PATH']}`;
  it.env['CODEX_HOME'] = join(it.at('tmp'), 'codex-home');
  expect(await it.work()).toMatchObject({ kind: 'finished' });
  expect(it.lines('seen/env')).toContain(`TMPDIR=${it.nodeDir}/tmp`);
  expect(it.lines('seen/env')).toContain(`CODEX_HOME=${it.at('tmp')}/codex-home`);
  expect(it.lines('seen/argv')).toEqual(expect.arrayContaining(['--json', '--skip-git-repo-check']));
  expect(it.logged[0]).toMatchObject({ level: 'warn' });
  expect(() => statSync(join(it.nodeDir, 'tmp'))).toThrow();
});

test.for([
  [{ rung: 'bwrap', nests: false, scratch: '/x' }, true],
  [{ rung: 'bwrap', nests: true, scratch: '/x' }, false],
  [{ rung: 'group', nests: true, scratch: '/x' }, false],
] as const)('inside a sandbox of %j the sandbox of codex is off: %s', async ([outer, off]) => {
  await using it = await codex('ok');
  const task = it.task({ attributes: it.attributes, sandbox: async () => outer });
  expect((await it.agent.work(task, new AbortController().signal)).kind).toBe('finished');
  const said = it.logged.some(({ message }) => message.includes('switched off'));
  expect([
    readFileSync(join(it.nodeDir, 'codex.args.txt'), 'utf8').includes('--dangerously-bypass'),
    said,
  ]).toEqual([off, off]);
});

describe('the directories that it gets', () => {
  test('have no symbolic links in their paths', async () => {
    await using it = await codex('ok');
    const link = it.at('link');
    symlinkSync(it.dir, link);
    const task = it.task({ attributes: it.attributes, nodeDir: join(link, 'work') });
    expect(await it.agent.work(task, new AbortController().signal)).toMatchObject({ kind: 'finished' });
    const words = it.read('codex.args.txt');
    expect(words).toContain(`-o ${join(realpathSync(it.nodeDir), 'response.md')}`);
    expect(words).not.toContain(link);
  });

  test('in a sandbox, a home below /tmp is among temporary files', async () => {
    await using it = await codex('ok', { attributes: { 'codex.json': 'true' } });
    it.env['CODEX_HOME'] = '/tmp/home-of-codex';
    for (const rung of ['bwrap', 'group'] as const) {
      const sandbox = async () => ({ rung, nests: true, scratch: it.at('scratch') });
      await it.agent.work(it.task({ attributes: it.attributes, sandbox }), new AbortController().signal);
      const warned = it.logged.filter(({ message }) => message.includes('lies among temporary files'));
      expect(warned.length, rung).toBe(rung === 'bwrap' ? 1 : 0);
      it.logged.length = 0;
    }
  });

  test('include no model: modelFor knows it before the call', () => {
    const env = { FACTORY_MODEL: 'of-everybody', ATTRACTOR_CODEX_MODEL: 'its-own' };
    const { modelFor } = codexAgent({ env, clock: handClock(0) });
    const named = { node: 'a', call: 1, settings: {}, workspace: '/w', model: 'of-the-node' };
    expect(modelFor?.({ node: 'a', call: 1, settings: {}, workspace: '/w' })).toBe('its-own');
    expect(modelFor?.(named)).toBe('of-the-node');
  });
});
