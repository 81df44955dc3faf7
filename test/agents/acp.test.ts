import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acpAgent } from '../../src/agents/acp.ts';
import { recordedIn } from '../../src/app/inspect/session-records.ts';
import type { AgentProgram, AgentReport, AgentTask } from '../../src/core/contracts/agent.ts';
import type { Exit } from '../../src/core/contracts/process.ts';
import type { SessionLine } from '../../src/core/records/session.ts';
import { temp } from '../platform/temp.ts';
import { handClock } from '../support/clock.ts';
import { keepsTheAgentContract, type TaskText, wellFormed } from './contract.ts';
import { inPlace, programTask } from './program-task.ts';

// Quoted, since the folder of a checkout may have a space in its name.
const standIn = `'${join(import.meta.dirname, '../support/acp-stand-in.mjs')}'`;

/** The agent in its own workspace; the stand-in does what `does` says. */
async function acp(
  does = '{}',
  {
    attributes = {},
    env = {},
    task: given = {},
    clock = handClock(0),
  }: {
    readonly attributes?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
    readonly task?: TaskText;
    readonly clock?: ReturnType<typeof handClock>;
  } = {},
) {
  const it = await programTask({}, { STAND_IN: does, ...env });
  it.env['SEEN'] = join(it.nodeDir, 'seen');
  mkdirSync(it.env['SEEN']);
  const agent = acpAgent({ env: it.env, clock });
  const named = { 'acp.command': standIn, ...attributes };
  return {
    ...it,
    agent,
    attributes: named,
    seen: (name: string): unknown[] => it.lines(`seen/${name}`).map((line) => JSON.parse(line)),
    work: async (signal = new AbortController().signal): Promise<AgentReport> =>
      wellFormed(await agent.work(it.task({ attributes: named, ...given }, signal), signal)),
    [Symbol.asyncDispose]: it[Symbol.asyncDispose],
  };
}

/** As in a sandbox, as far as the agent asks; the program is started without one. */
const inside: Partial<AgentTask> = {
  sandbox: async () => ({ rung: 'bwrap', nests: false, scratch: '/nowhere' }),
};

keepsTheAgentContract('acp', async () => {
  const good = await acp();
  const endless = await acp('{ async prompt() { note("begun", 1); await new Promise(() => {}); } }');
  return {
    agent: inPlace(good),
    broken: { agent: inPlace(good), task: { attributes: { 'acp.command': '/nowhere/agent' } } },
    endless: { agent: inPlace(endless), begun: () => endless.made('seen/begun') },
    async [Symbol.asyncDispose]() {
      await good[Symbol.asyncDispose]();
      await endless[Symbol.asyncDispose]();
    },
  };
});

test('a turn: the prompt asks for the form of the answer, and neither files nor terminals are offered', async () => {
  await using it = await acp();
  expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success', label: 'on', notes: 'done' });
  expect(it.seen('prompts')).toEqual([expect.stringMatching(/^do it\n\n.*"verification_plan"/s)]);
  expect(it.seen('hello')).toMatchObject([
    {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    },
  ]);
  expect(it.seen('opened')).toEqual([{ cwd: it.workspace, mcpServers: [] }]);
  expect(it.lines('acp.sent.jsonl').map((line) => JSON.parse(line).method)).toEqual([
    'initialize',
    'session/new',
    'session/prompt',
  ]);
});

describe('the answer', () => {
  test.for<readonly [string, string, object]>([
    ['json', 'await ok({ outcome: "retry" })', { kind: 'finished', outcome: 'retry' }],
    ['json', 'await say("I did it all")', { kind: 'failed', class: 'agent' }],
    ['json', 'await say("so: "); await say("STATUS: fail")', { kind: 'failed', class: 'agent' }],
    ['text', 'await say("I did "); await say("it all")', { kind: 'answered', text: 'I did it all' }],
    [
      'outcome',
      'await say("fail\\ntwo are red")',
      { kind: 'finished', outcome: 'fail', reason: 'two are red' },
    ],
    ['auto', 'await say("Outcome: fail - red")', { kind: 'finished', outcome: 'fail' }],
    ['auto', 'await say("I did it")', { kind: 'answered', text: 'I did it' }],
    ['auto', '', { kind: 'failed', class: 'agent', reason: expect.stringContaining('said nothing') }],
  ])('with response_format=%s, of %j, is %j', async ([format, does, report]) => {
    await using it = await acp(`{ async prompt() { ${does} } }`, { attributes: { response_format: format } });
    expect(await it.work()).toMatchObject(report);
  });

  test('is what was said after the last call; without a word after it, what was said before', async () => {
    const attributes = { 'acp.response_format': 'text' };
    const turn = (last: string) =>
      `{ async prompt() { await say("I look."); await call("a", { kind: "read" }); await settle("a"); await think("hm"); ${last} } }`;
    await using last = await acp(turn('await say("It is "); await say("there.")'), { attributes });
    expect(await last.work()).toEqual({ kind: 'answered', text: 'It is there.' });
    await using first = await acp(turn(''), { attributes });
    expect(await first.work()).toEqual({ kind: 'answered', text: 'I look.' });
  });

  test('begins anew with a call that is first reported where the agent asks for permission', async () => {
    await using it = await acp(
      `{ async prompt() { await say("I look."); await ask({ toolCallId: "a", title: "make", kind: "execute" }); await settle("a"); await say("It is there."); } }`,
      { attributes: { response_format: 'text', 'acp.permissions': 'allow' } },
    );
    expect(await it.work()).toEqual({ kind: 'answered', text: 'It is there.' });
    expect(it.actions).toMatchObject([{ action: 'command', detail: 'make', status: 'completed' }]);
  });

  test.for<readonly [string, string]>([
    [
      'with the closing of the session',
      '{ hello: { agentCapabilities: { sessionCapabilities: { close: {} } } }, prompt() {}, closes: () => say("late") }',
    ],
    ['at end of file', '{ async prompt() {}, ends: () => say("late") }'],
  ])('may follow the end of the turn: %s', async ([, does]) => {
    await using it = await acp(does, { attributes: { response_format: 'text' } });
    expect(await it.work()).toEqual({ kind: 'answered', text: 'late' });
  });

  test('of another session, and before the prompt, is none', async () => {
    await using it = await acp(
      '{ opens: () => say("early"), async prompt() { await ok(); process.stdout.write(JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "other", update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x" } } } }) + "\\n") } }',
    );
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
  });

  test.for(['max_tokens', 'max_turn_requests', 'refusal', 'cancelled', 'tired'])(
    'of a turn that ended by %s does not count',
    async (stopReason) => {
      await using it = await acp(`{ async prompt() { await ok(); return { stopReason: "${stopReason}" } } }`);
      expect(await it.work()).toMatchObject({
        ...{ kind: 'failed', class: 'agent' },
        reason: `acp failed: its turn ended by ${stopReason}`,
      });
    },
  );

  test('that never ends is cut, and the program is ended', async () => {
    await using it = await acp('{ async prompt() { for (;;) await say("x".repeat(1e6)) } }');
    expect(await it.work()).toMatchObject({ class: 'agent', reason: expect.stringContaining('larger than') });
  });
});

describe('permissions', () => {
  const asks = (then: string) =>
    `{ async prompt() { await call("c", { kind: "execute", rawInput: { command: "rm -r x" } }); note("got", await ask({ toolCallId: "c" })); ${then} } }`;

  test('in a sandbox a request is allowed once', async () => {
    await using it = await acp(asks('await settle("c"); await ok()'), { task: inside });
    const report = await it.work();
    expect(report).toMatchObject({ kind: 'finished', outcome: 'success' });
    expect(report).not.toHaveProperty('denied');
    expect(it.seen('got')).toEqual(['o-allow_once']);
    expect(it.actions).toMatchObject([{ action: 'command', detail: 'rm -r x', status: 'completed' }]);
  });

  test('without a sandbox it is refused, and a turn that says nothing after that has failed', async () => {
    await using it = await acp(asks('await settle("c", "failed")'));
    expect(await it.work()).toMatchObject({
      ...{ kind: 'failed', class: 'agent', denied: ['$ rm -r x'] },
      reason: expect.stringContaining('acp.permissions=allow'),
    });
    expect(it.seen('got')).toEqual(['o-reject_once']);
    expect(it.actions).toMatchObject([{ action: 'command', detail: 'rm -r x', status: 'denied' }]);
  });

  test('what was said before a refusal is no answer to it', async () => {
    await using it = await acp(
      `{ async prompt() { await ok(); await ask({ toolCallId: "c", title: "write x", kind: "edit", locations: [{ path: "/x" }] }) } }`,
    );
    expect(await it.work()).toMatchObject({ kind: 'failed', class: 'agent', denied: ['/x'] });
  });

  test('what was said before a refusal is no answer, whatever is said after it', async () => {
    await using it = await acp(
      `{ async prompt() { await ok(); await ask({ toolCallId: "c", title: "write x", kind: "edit" }); await say("So be it.") } }`,
    );
    expect(await it.work()).toMatchObject({ kind: 'failed', class: 'agent', denied: ['write x'] });
  });

  test('a refused command is one, also where the request is for something more', async () => {
    await using it = await acp(
      `{ async prompt() { await call("c", { kind: "execute", title: "make" }); await ask({ toolCallId: "c", kind: "other" }); await ok() } }`,
    );
    expect(await it.work()).toMatchObject({ denied: ['$ make'] });
    expect(it.actions).toMatchObject([{ action: 'command', detail: 'make', status: 'denied' }]);
  });

  test('a turn that answers after a refusal counts, with what was refused', async () => {
    await using it = await acp(asks('await ok({ outcome: "partial_success", notes: "not all" })'));
    expect(await it.work()).toMatchObject({ outcome: 'partial_success', denied: ['$ rm -r x'] });
  });

  test.for<readonly [string, Partial<AgentTask>, string]>([
    ['allow', {}, 'o-allow_once'],
    ['refuse', inside, 'o-reject_once'],
  ])('acp.permissions=%s decides', async ([permissions, task, got]) => {
    await using it = await acp(asks('await ok()'), { task, attributes: { 'acp.permissions': permissions } });
    await it.work();
    expect(it.seen('got')).toEqual([got]);
  });

  test('what can only be allowed for ever is refused', async () => {
    await using it = await acp(
      '{ async prompt() { note("got", await ask({ toolCallId: "c" }, [{ kind: "allow_always", name: "a", optionId: "a" }])); await ok() } }',
      { task: inside },
    );
    expect(await it.work()).toMatchObject({ outcome: 'success', denied: ['a tool'] });
    expect(it.seen('got')).toEqual(['cancelled']);
  });
});

test('calls are reported by their kind', async () => {
  await using it = await acp(`{ async prompt() {
    await call("1", { kind: "execute", title: "npm test" }); await settle("1", "failed");
    await call("2", { kind: "edit", title: "Edit", locations: [{ path: "/w/a" }, { path: "/w/b" }] }); await settle("2");
    await call("3", { kind: "delete", rawInput: { path: "/w/c" } }); await settle("3");
    await call("4", { kind: "fetch", rawInput: { url: "http://x/" } }); await settle("4");
    await call("5", { kind: "search", title: "grep" }); await settle("5"); await settle("5");
    await call("6", { kind: "execute", title: "sleep" });
    await ok();
  } }`);
  await it.work();
  expect(it.actions.map(({ action, detail, status }) => [action, detail, status])).toEqual([
    ['command', 'npm test', 'failed'],
    ['file_change', '/w/a, /w/b', 'completed'],
    ['file_change', '/w/c', 'completed'],
    ['web_search', 'http://x/', 'completed'],
    ['tool_call', 'grep', 'completed'],
    ['command', 'sleep', 'started'],
  ]);
});

describe('usage', () => {
  const ends = (more: string) => `{ async prompt() { await ok(); return { ${more} } } }`;
  test.for<readonly [string, object | undefined]>([
    ['', undefined],
    ['usage: { totalTokens: 0, inputTokens: 0, outputTokens: 0 }', undefined],
    [
      'usage: { totalTokens: 18, inputTokens: 11, outputTokens: 7 }',
      { model: 'acp', input_tokens: 11, output_tokens: 7, cost_usd: null },
    ],
    [
      'usage: { totalTokens: 125, inputTokens: 11, outputTokens: 7, cachedReadTokens: 100, cachedWriteTokens: 5, thoughtTokens: 2 }',
      { input_tokens: 116, output_tokens: 9, cached_input_tokens: 100, reasoning_tokens: 2 },
    ],
    [
      'usage: { totalTokens: 18, inputTokens: 11, outputTokens: 7, cachedReadTokens: 10, thoughtTokens: 2 }',
      { input_tokens: 11, output_tokens: 7, cached_input_tokens: 10, reasoning_tokens: 2 },
    ],
    ['_meta: { quota: { token_count: { input_tokens: 3, output_tokens: 4 } } }', { input_tokens: 3 }],
  ])('of %j is %j', async ([more, usage]) => {
    await using it = await acp(ends(more));
    const report = await it.work();
    if (usage === undefined) expect(report).not.toHaveProperty('usage');
    else {
      expect(report).toMatchObject({ usage });
      expect(report).not.toHaveProperty('usage.incomplete');
    }
  });

  test('with a cost has it, and of a turn that broke as the least that it was', async () => {
    const cost =
      'await update({ sessionUpdate: "usage_update", used: 1, size: 2, cost: { amount: 0.5, currency: "USD" } })';
    await using it = await acp(`{ async prompt() { ${cost}; await ok() } }`);
    expect(await it.work()).toMatchObject({
      usage: { input_tokens: null, output_tokens: null, cost_usd: 0.5 },
    });
    await using broken = await acp(`{ async prompt() { ${cost}; process.exit(3) } }`);
    expect(await broken.work()).toMatchObject({
      kind: 'failed',
      usage: { cost_usd: 0.5, incomplete: true },
    });
  });
});

describe('the model', () => {
  const option = (...values: readonly string[]) =>
    `{ id: "m", name: "Model", category: "model", type: "select", currentValue: "${values[0]}", options: ${JSON.stringify(values.map((value) => ({ value, name: value })))} }`;
  const attributes = { llm_model: 'big-model' };

  test('is set by the option of the session', async () => {
    await using it = await acp(`{ opened: { configOptions: [${option('small', 'big-model')}] } }`, {
      attributes,
    });
    expect(await it.work()).toMatchObject({ outcome: 'success' });
    expect(it.seen('set')).toEqual([{ sessionId: 's1', configId: 'm', value: 'big-model' }]);
  });

  test('in a group of options is one of them', async () => {
    const groups = '[{ group: "g", name: "G", options: [{ value: "big-model", name: "Big" }] }]';
    await using it = await acp(
      `{ opened: { configOptions: [{ id: "m", name: "M", category: "model", type: "select", currentValue: "x", options: ${groups} }] } }`,
      { attributes },
    );
    expect(await it.work()).toMatchObject({ outcome: 'success' });
    expect(it.seen('set')).toMatchObject([{ value: 'big-model' }]);
  });

  test('is set by the request that there was before options', async () => {
    await using it = await acp(
      '{ opened: { models: { availableModels: [{ modelId: "small", name: "s" }], currentModelId: "small" } } }',
      { attributes },
    );
    expect(await it.work()).toMatchObject({ outcome: 'success' });
    expect(it.seen('models')).toEqual([{ sessionId: 's1', modelId: 'big-model' }]);
  });

  test('of a third party is refused where nobody named it, however the agent was started', async () => {
    const free = `{ opened: { configOptions: [${option('opencode/big-pickle', 'big-model')}] } }`;
    await using unnamed = await acp(free);
    expect(await unnamed.work()).toMatchObject({
      ...{ kind: 'failed', class: 'config' },
      reason: expect.stringContaining('opencode/big-pickle by itself'),
    });
    expect(() => unnamed.seen('prompts')).toThrow();
    await using named = await acp(free, { attributes: { llm_model: 'opencode/big-pickle' } });
    expect(await named.work()).toMatchObject({ outcome: 'success' });
  });

  test('that the session has already is not set; without one its own stays, and has the usage', async () => {
    await using same = await acp(`{ opened: { configOptions: [${option('big-model', 'small')}] } }`, {
      attributes,
    });
    expect(await same.work()).toMatchObject({ outcome: 'success' });
    await using own = await acp(
      `{ opened: { configOptions: [${option('big-model', 'small')}] }, async prompt() { await ok(); return { usage: { totalTokens: 3, inputTokens: 1, outputTokens: 2 } } } }`,
    );
    expect(await own.work()).toMatchObject({ usage: { model: 'big-model' } });
    for (const it of [same, own]) expect(() => it.seen('set')).toThrow();
  });

  test.for<readonly [string, string, string]>([
    ['no choice', '{}', 'offers no choice of its model'],
    [
      'others',
      `{ opened: { configOptions: [${option('small', 'big-modell')}] } }`,
      'did you mean big-modell?',
    ],
    [
      'a refusal',
      `{ opened: { configOptions: [${option('small', 'big-model')}] }, sets() { throw RequestError.invalidParams() } }`,
      'session/set_config_option',
    ],
  ])('is refused where the agent has %s, before any prompt', async ([, does, why]) => {
    await using it = await acp(does, { attributes });
    expect(await it.work()).toMatchObject({
      ...{ kind: 'failed', class: 'config' },
      reason: expect.stringContaining(why),
    });
    expect(() => it.seen('prompts')).toThrow();
  });
});

describe('a program that does not fit', () => {
  test.for<readonly [string, string, object]>([
    [
      'speaks another version',
      '{ hello: { protocolVersion: 2 } }',
      { class: 'config', reason: 'acp failed: it speaks version 2 of the protocol, and version 1 is needed' },
    ],
    [
      'has no login',
      '{ opens() { throw RequestError.authRequired() } }',
      { class: 'config', park: { kind: 'auth' }, reason: expect.stringContaining('has no login') },
    ],
    [
      'loses its login in the turn',
      '{ prompt() { throw RequestError.authRequired() } }',
      { class: 'config', park: { kind: 'auth' } },
    ],
    [
      'has reached a limit',
      '{ prompt() { throw new RequestError(429, "Rate limit exceeded. Please try again in 7s.") } }',
      {
        class: 'infra',
        park: { kind: 'quota', wakeAtMs: expect.any(Number) },
        model: 'api',
        retryAfterMs: 7_000,
      },
    ],
    [
      'cannot reach its provider',
      '{ prompt() { throw RequestError.internalError({ details: "connect ECONNREFUSED 127.0.0.1:1" }) } }',
      { class: 'infra', park: { kind: 'outage' }, model: 'api' },
    ],
    [
      'says in other words that it cannot reach it',
      '{ prompt() { throw RequestError.internalError({ message: "stream disconnected: error sending request for url (http://x/)" }) } }',
      { class: 'infra', park: { kind: 'outage' } },
    ],
    [
      'breaks in its turn',
      '{ prompt() { throw RequestError.internalError({ details: "boom" }) } }',
      { class: 'agent', reason: expect.stringContaining('Internal error: boom') },
    ],
    [
      'exits in its turn',
      '{ async prompt() { await ok(); console.error("out of milk"); process.exit(7) } }',
      {
        class: 'agent',
        reason: 'acp failed: it ended with exit status 7 in the middle of its turn: out of milk',
      },
    ],
    [
      'is killed in its turn',
      '{ async prompt() { await ok(); process.kill(process.pid, "SIGKILL") } }',
      { class: 'agent', reason: expect.stringContaining('ended by SIGKILL') },
    ],
  ])('because it %s has a failure of that class', async ([, does, report]) => {
    await using it = await acp(does);
    expect(await it.work()).toMatchObject({ kind: 'failed', ...report });
  });

  test.for<readonly [string, string]>([
    [
      'sh -c \'echo "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":0,\\"result\\":null}"; read a; read b\'',
      'speaks version unknown',
    ],
    ["sh -c 'echo usage: agent; exit 2'", 'exit status 2 before its turn'],
    ["sh -c 'echo hello; cat >/dev/null'", 'did not answer `initialize` within 120 s'],
    ['cat', 'Method not found'],
    ['sh -c \'echo []; echo null; echo 7; echo {\\"id\\":5}; exit 1\'', 'exit status 1 before its turn'],
  ])('%s is told from one that speaks the protocol', async ([command, why]) => {
    const clock = handClock(0);
    await using it = await acp('{}', { attributes: { 'acp.command': command }, clock });
    const report = it.work();
    if (command.includes('cat >')) {
      // The next record of the log, and the answer.
      await clock.waiting(2);
      clock.advance(120_000);
    }
    expect(await report).toMatchObject({ kind: 'failed', reason: expect.stringContaining(why) });
  });

  test('lines that are no messages, and messages that nobody asked for, are left out', async () => {
    await using it = await acp(`{ async prompt() {
      for (const line of ["Loading…", "{ torn", "[1]", '{"jsonrpc":"2.0","id":99,"result":{}}', '{"jsonrpc":"2.0","method":"_own/thing"}', '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"new_kind"}}}'])
        process.stdout.write(line + "\\n");
      await ok();
    } }`);
    expect(await it.work()).toMatchObject({ kind: 'finished', outcome: 'success' });
  });

  test('it gets no files and no terminal from us', async () => {
    await using it = await acp(
      '{ async prompt() { process.stdout.write(\'{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{"sessionId":"s1","path":"/x","content":"y"}}\\n\'); await ok() } }',
    );
    expect(await it.work()).toMatchObject({ outcome: 'success' });
    expect(it.read('acp.sent.jsonl')).toContain('"id":"w","error":{"code":-32601');
  });
});

/** The stand-in under another name, whose preset counts. */
function called(it: { at(path: string): string }, name: string): string {
  mkdirSync(it.at('bin'));
  symlinkSync(join(import.meta.dirname, '../support/acp-stand-in.mjs'), it.at(`bin/${name}`));
  return `'${it.at(`bin/${name}`)}'`;
}

describe('codex-acp', () => {
  const work = async (
    does: string,
    { attributes = {}, env = {}, task = {} }: Parameters<typeof acp>[1] & { readonly task?: TaskText } = {},
  ) => {
    const it = await acp(does, { env: { CODEX_HOME: '/nowhere', ...env } });
    const command = called(it, 'codex-acp');
    const report = await it.agent.work(
      it.task({ attributes: { 'acp.command': command, ...attributes }, ...task }),
      new AbortController().signal,
    );
    return { ...it, report };
  };

  test.for<readonly [string, object]>([
    ['exceeded retry limit, last status: 429 Too Many Requests', { class: 'infra', park: { kind: 'quota' } }],
    ['unexpected status 503 Service Unavailable: x', { class: 'infra', park: { kind: 'outage' } }],
    ['stream disconnected before completion: x', { class: 'infra', park: { kind: 'outage' } }],
    ['{"error":{"message":"bad request"}}', { class: 'agent' }],
  ])('that says %j as its answer after an error has failed', async ([said, report]) => {
    const status = (type: string) =>
      `await update({ sessionUpdate: "session_info_update", _meta: { codex: { threadStatus: { type: "${type}" } } } })`;
    const does = `{ async prompt() { await say("Warning: no metadata"); ${status('active')}; ${status('systemError')}; await say(${JSON.stringify(`${said}\n\n`)}) } }`;
    await using it = await work(does, { attributes: { response_format: 'text' } });
    expect(it.report).toMatchObject({ kind: 'failed', reason: expect.stringContaining(said), ...report });
    const healed = `{ async prompt() { ${status('systemError')}; ${status('active')}; await say("well"); ${status('idle')} } }`;
    await using well = await work(healed, { attributes: { response_format: 'text' } });
    expect(well.report).toEqual({ kind: 'answered', text: 'well' });
  });

  test('that has reached a limit says so in its own words', async () => {
    await using it = await work(
      '{ prompt() { throw RequestError.internalError({ message: "You\'ve hit your usage limit. Try again in 2 hours." }) } }',
    );
    expect(it.report).toMatchObject({ class: 'infra', park: { kind: 'quota' }, retryAfterMs: 7_200_000 });
  });

  test.for([
    ['agent', 'agent-full-access'],
    ['read-only', 'full-access'],
  ])('in a sandbox leaves its own out: from the mode %s to %s', async ([current, full]) => {
    const modes = [current, full].map((value) => ({ value, name: value }));
    const does = `{ opened: { configOptions: [{ id: "mode", name: "Mode", category: "mode", type: "select", currentValue: "${current}", options: ${JSON.stringify(modes)} }] } }`;
    await using it = await work(does, { task: inside });
    expect(it.report).toMatchObject({ outcome: 'success' });
    expect(it.seen('set')).toMatchObject([{ configId: 'mode', value: full }]);
    await using bare = await work(does);
    expect(() => bare.seen('set')).toThrow();
  });

  test('logs in with the key of a variable that it was given, unless it has a login', async () => {
    const does =
      '{ hello: { authMethods: [{ id: "chat-gpt", name: "ChatGPT" }, { id: "api-key", name: "Key" }] }, logsIn() { this.in = true; return {} }, opens() { if (!this.in) throw RequestError.authRequired() } }';
    await using it = await work(does, { env: { OPENAI_API_KEY: 'sk-key-1234567890' } });
    expect(it.report).toMatchObject({ outcome: 'success' });
    expect(it.seen('logins')).toEqual([{ methodId: 'api-key' }]);
    const home = await temp();
    await using _ = home;
    writeFileSync(home.at('auth.json'), '{}');
    const key = { OPENAI_API_KEY: 'sk-key-1234567890' };
    for (const env of [{}, { ...key, CODEX_HOME: home.dir }]) {
      await using without = await work(does, { env });
      expect(without.report).toMatchObject({ class: 'config', park: { kind: 'auth' } });
      expect(() => without.seen('logins')).toThrow();
    }
  });
});

describe('a login by a key', () => {
  const method =
    'authMethods: [{ id: "browser", name: "Browser" }, { type: "env_var", id: "by-key", name: "Key", vars: [{ name: "MY_KEY" }] }]';
  const does = `{ hello: { ${method} }, logsIn() { this.in = true; return {} }, opens() { if (!this.in) throw RequestError.authRequired() } }`;

  test('that it was given is used', async () => {
    await using it = await acp(does, {
      env: { MY_KEY: 'secret-1' },
      attributes: { 'acp.env_keys': 'MY_KEY' },
    });
    expect(await it.work()).toMatchObject({ outcome: 'success' });
    expect(it.seen('logins')).toEqual([{ methodId: 'by-key' }]);
    expect(it.seen('env')).toMatchObject([{ MY_KEY: 'secret-1' }]);
  });

  test('that it was not given is not tried', async () => {
    await using it = await acp(does, { env: { MY_KEY: 'secret-1' } });
    expect(await it.work()).toMatchObject({ class: 'config', park: { kind: 'auth' } });
    expect(() => it.seen('logins')).toThrow();
  });
});

describe('of the home a sandbox shows', () => {
  /** The places below the home, of a program of this name. */
  async function shownTo(name: string, files: readonly string[]) {
    await using it = await acp();
    const home = it.env['HOME'] ?? '';
    for (const file of files) {
      mkdirSync(dirname(join(home, file)), { recursive: true });
      writeFileSync(join(home, file), '{}');
    }
    let shown: AgentProgram['home'] = [];
    const run = async (program: AgentProgram): Promise<Exit> => {
      shown = program.home;
      return { kind: 'exited', code: 1 };
    };
    const attributes = { 'acp.command': called(it, name), llm_model: 'x/y' };
    await it.agent.work(it.task({ attributes, run }), new AbortController().signal);
    return shown.map(({ path, ...place }) => ({ path: relative(home, path), ...place }));
  }

  test('to opencode its settings, read-only in a folder that it may write to, and its login', async () => {
    expect(
      await shownTo('opencode', ['.config/opencode/opencode.json', '.config/opencode/agent/x.md']),
    ).toEqual([
      { path: '.config/opencode', write: true, empty: true },
      { path: '.config/opencode/agent', write: false },
      { path: '.config/opencode/opencode.json', write: false },
      { path: '.local/share/opencode/auth.json', write: true },
    ]);
  });

  test('to codex-acp settings and login, and no file that it must write to start', async () => {
    const files = ['auth.json', 'config.toml', 'installation_id', 'history.jsonl'];
    expect(
      await shownTo(
        'codex-acp',
        files.map((file) => `.codex/${file}`),
      ),
    ).toEqual([
      { path: '.codex', write: true, empty: true },
      { path: '.codex/auth.json', write: true },
      { path: '.codex/config.toml', write: false },
    ]);
  });
});

test('a task that is stopped says so to the program before it is ended', async () => {
  await using it = await acp(
    '{ async prompt() { process.on("SIGTERM", () => {}); note("begun", 1); await cancelled; note("polite", 1); process.exit(0) } }',
  );
  const stop = new AbortController();
  const report = it.work(stop.signal);
  await it.made('seen/begun');
  stop.abort();
  expect(await report).toEqual({ kind: 'cancelled' });
  expect(it.seen('cancelled')).toEqual([{ sessionId: 's1' }]);
  expect(it.seen('polite')).toEqual([1]);
});

describe('the settings', () => {
  test.for<readonly [Readonly<Record<string, string>>, string]>([
    [{ 'acp.command': '' }, 'acp.command is missing'],
    [{ 'acp.command': '../agent' }, 'neither "~" nor ".."'],
    [{ 'acp.command': 'opencode' }, "third party's free model"],
    [{ 'acp.command': 'agent "x' }, 'acp.command'],
    [{ 'acp.home': 'relative/path' }, 'acp.home'],
  ])('%j are refused', async ([attributes, why]) => {
    await using it = await acp('{}', { attributes });
    expect(await it.work()).toMatchObject({ class: 'config', reason: expect.stringContaining(why) });
  });

  test('come from the environment too, and words of a preset are added', async () => {
    await using it = await acp('{}', { attributes: { 'acp.command': 'gemini' } });
    expect(await it.work()).toMatchObject({ class: 'config', missing: true });
  });
});

test('the session has whole texts, calls with results, and the usage of the turn', async () => {
  await using it = await acp(`{ async prompt() {
    await think("hm"); await say("I "); await say("look.");
    await call("1", { kind: "execute", title: "npm test", status: "pending" });
    await settle("1", "in_progress", { rawInput: { command: "npm test" } });
    await settle("1", "failed", { content: [{ type: "content", content: { type: "text", text: "2 are red" } }] });
    await ok();
    return { usage: { totalTokens: 3, inputTokens: 1, outputTokens: 2 } };
  } }`);
  const lines: SessionLine[] = [];
  const report = await it.agent.work(
    it.task({ attributes: it.attributes, session: (line) => lines.push(line) }),
    new AbortController().signal,
  );
  expect(lines.map(({ at: _, ...line }) => line)).toEqual([
    { type: 'start', agent: 'acp' },
    { type: 'turn' },
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'I look.' },
    { type: 'call', id: '1', name: 'command', detail: 'npm test' },
    { type: 'result', id: '1', ok: false, output: '2 are red' },
    { type: 'text', text: expect.stringContaining('"success"') },
    { type: 'usage', input_tokens: 1, output_tokens: 2 },
  ]);
  expect(report).toMatchObject({ outcome: 'success' });
  const recorded = recordedIn(it.nodeDir, { agent: 'acp', model: undefined });
  expect(recorded).toEqual({ agent: 'acp', source: 'events', lines });
});
