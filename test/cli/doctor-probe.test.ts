/** `factory doctor --probe`: what it says of providers that answer, and of those that do not. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { probeServer } from '../../src/agents/openai/probe.ts';
import type { EnvironmentFinding } from '../../src/app/doctor.ts';
import { handClock } from '../support/clock.ts';
import { house } from '../support/house.ts';
import {
  type ModelRequest,
  type Reaction,
  type SpokenApi,
  startModelServer,
} from '../support/model-server.ts';
import { onDisk } from '../support/temporary.ts';
import { call, type Flags } from '../support/verb.ts';

onDisk();

const key = 'acme-secret-0123456789';

/** A model that does what it is asked for. */
const able = ({ body = {} }: ModelRequest): Reaction =>
  'tools' in body
    ? { calls: [{ name: 'report', arguments: { word: 'ready' } }] }
    : { json: { word: 'ready' } };

type Given = {
  readonly reactions?: readonly Reaction[] | ((request: ModelRequest, index: number) => Reaction);
  readonly speaks?: readonly SpokenApi[];
  /** More of the entry of the provider `acme`. */
  readonly acme?: object;
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: Flags;
};

/** What `doctor` says with a file in which `acme` is the server. */
async function doctor({ reactions = able, speaks = ['chat'], acme = {}, env = {}, flags = {} }: Given) {
  await using server = await startModelServer(reactions, speaks);
  await using it = await house({});
  const folder = join(it.path, 'config/factory');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'factory.json');
  const entry = { base_url: server.url, key: 'ACME_LOGIN', models: ['large'], ...acme };
  writeFileSync(file, JSON.stringify({ providers: { acme: entry } }, null, 2));
  const variables = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: it.path, TMPDIR: it.path, FACTORY_SANDBOX: 'none' },
    ...{ XDG_CONFIG_HOME: join(it.path, 'config'), ACME_LOGIN: key, ...env },
  };
  const doors = { cwd: it.path, env: variables };
  const { code, out } = await call(['doctor'], { probe: true, json: true, ...flags }, doors);
  expect(out).not.toContain(key);
  const all: readonly EnvironmentFinding[] = JSON.parse(out).findings;
  const found = all.filter(({ what }) => what === 'probe');
  const of = (provider: string) => found.find(({ says }) => says.includes(`${provider}: `));
  return { code, found, of, acme: of('acme'), file, requests: [...server.requests] };
}

const whole = { tools: 'called', schema: 'kept', streaming: true };

test.for<[SpokenApi, string]>([
  ['chat', 'auto'],
  ['responses', 'auto'],
  ['chat', 'chat'],
  ['anthropic', 'anthropic'],
])('a server of %s with "api": %s can all: two requests, with the key', async ([speaks, api]) => {
  const { code, acme, requests, file } = await doctor({ speaks: [speaks], acme: { api } });
  expect(code).toBe(0);
  expect(acme).toMatchObject({
    state: 'good',
    probe: { provider: 'acme', model: 'large', api: speaks, ...whole },
  });
  expect(acme?.says).toContain(`${file}:3 acme: large at http://127.0.0.1`);
  const answered = requests.filter(({ path }) => !path.endsWith('/responses') || speaks === 'responses');
  expect(answered).toHaveLength(2);
  for (const { headers } of answered)
    expect(headers).toMatchObject(
      speaks === 'anthropic' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` },
    );
});

test('without the flag nothing is asked, and its flags alone are refused', async () => {
  const { code, found, requests } = await doctor({ flags: { probe: false } });
  expect({ code, found, requests }).toEqual({ code: 0, found: [], requests: [] });
  const wrong = await call(['doctor'], { model: 'large' }, { cwd: '/', env: {} });
  expect(wrong.code).toBe(2);
  expect(wrong.err).toContain('--model needs --probe');
});

test('the price is known by the name that the server gives, from the file of the provider', async () => {
  const priced = await doctor({ acme: { prices: { large: { input: 1, output: 2 } } } });
  expect(priced.acme?.probe?.price).toBe('known');
  const unpriced = await doctor({});
  expect(unpriced.acme?.probe?.price).toBe('unknown');
  expect(unpriced.acme?.more.join()).toContain('costs of "large" are unknown');
  const uncounted = await doctor({ reactions: (asked) => ({ ...able(asked), usage: null }) as Reaction });
  expect(uncounted.acme?.probe?.price).toBe('tokens not counted');
});

const refuses = (part: string): Reaction => ({
  status: 400,
  body: { error: { message: `${part} is not supported` } },
});

test.for<[string, (asked: ModelRequest) => Reaction, object, RegExp]>([
  [
    'refuses a schema',
    (asked) => ('response_format' in (asked.body ?? {}) ? refuses('response_format') : able(asked)),
    { ...whole, schema: 'refused' },
    /form of answers/,
  ],
  [
    'ignores a schema',
    (asked) => ('tools' in (asked.body ?? {}) ? able(asked) : { text: 'Ready.' }),
    { ...whole, schema: 'not kept' },
    /form of answers/,
  ],
  [
    'refuses tools',
    (asked) => ('tools' in (asked.body ?? {}) ? refuses('tools') : able(asked)),
    { ...whole, tools: 'refused' },
    /tools: .*tools is not supported/,
  ],
  [
    'does not call a tool',
    (asked) => ('tools' in (asked.body ?? {}) ? { text: 'report("ready")' } : able(asked)),
    { ...whole, tools: 'not called' },
    /in words instead of the call/,
  ],
  [
    'fails at the second question',
    (asked) => ('tools' in (asked.body ?? {}) ? { status: 503, body: {} } : able(asked)),
    { ...whole, tools: 'unclear' },
    /tools: .* is in trouble/,
  ],
])('a server that %s: runs work with less', async ([, reactions, probe, note]) => {
  const { code, acme } = await doctor({ reactions });
  expect(code).toBe(0);
  expect(acme).toMatchObject({ state: 'less', probe });
  expect(acme?.more.join('\n')).toMatch(note);
});

test('an answer that comes whole is no stream', async () => {
  const message = { role: 'assistant', content: '{"word":"ready"}' };
  const { acme } = await doctor({
    reactions: (asked) =>
      'tools' in (asked.body ?? {})
        ? able(asked)
        : { status: 200, body: { choices: [{ index: 0, message, finish_reason: 'stop' }] } },
  });
  expect(acme).toMatchObject({ state: 'good', probe: { ...whole, streaming: false } });
});

test.for<[string, Given, RegExp, RegExp]>([
  [
    'refuses the key',
    {
      reactions: [{ status: 401, body: { error: { message: `wrong key ${key}`, code: 'invalid_api_key' } } }],
    },
    /the key was refused .*401/,
    /set ACME_LOGIN/,
  ],
  [
    'does not have the model',
    { reactions: [{ status: 404, body: { error: { message: 'no large', code: 'model_not_found' } } }] },
    /model "large" was not found/,
    /name of the model/,
  ],
  [
    'shows a web page',
    { reactions: [{ status: 200, body: '<html><title>Log in</title>' }] },
    /a web page, "Log in"/,
    /base_url of the provider "acme"/,
  ],
  ['hangs up', { reactions: [{ drop: true }] }, /cannot be reached/, /server runs/],
  [
    'is not there',
    { acme: { base_url: 'http://127.0.0.1:2/v1' } },
    /cannot be reached: .*ECONNREFUSED/,
    /server runs/,
  ],
  ['limits its users', { reactions: [{ status: 429, body: {} }] }, /too many requests/, /wait/],
  ['has another API', { speaks: [], acme: { api: 'chat' } }, /was not found/, /"api" of the provider/],
  [
    'gets no key',
    { env: { ACME_LOGIN: '' }, flags: { provider: 'acme' } },
    /there is no key/,
    /set ACME_LOGIN/,
  ],
])('a server that %s is one line with its place and a fix, and exit code 1', async ([, given, says, fix]) => {
  const { code, found, acme, file } = await doctor(given);
  expect(code).toBe(1);
  expect(acme).toMatchObject({
    state: 'bad',
    says: expect.stringMatching(says),
    fix: expect.stringMatching(fix),
  });
  expect(acme?.says).toContain(`${file}:3 acme: `);
  expect(acme?.says).not.toContain('\n');
  expect(found.filter(({ state }) => state === 'bad')).toHaveLength(1);
});

test('a server that says nothing is given up after two minutes', async () => {
  await using server = await startModelServer([{ hang: true }], ['chat']);
  const clock = handClock();
  const probed = probeServer({
    server: { provider: 'acme', baseURL: server.url, api: 'chat', keyVariable: undefined, headers: {} },
    access: { apiKey: '', headers: {}, hidden: [] },
    ...{ model: 'large', clock },
  });
  await server.arrived(1);
  clock.advance(120_000);
  const reason = expect.stringMatching(/^no whole answer from .* within 2 minutes$/);
  expect(await probed).toMatchObject({ failed: { class: 'timeout', reason } });
});

test('a local server without a key is asked only if a model is named, and a flag names whom to ask', async () => {
  const all = await doctor({});
  expect(all.of('ollama')).toMatchObject({
    state: 'absent',
    fix: expect.stringContaining('--model ollama/NAME'),
  });
  expect(all.of('mistral')).toBeUndefined();
  const one = await doctor({ flags: { model: 'acme/small' } });
  expect(one.found).toHaveLength(1);
  expect(one.acme?.probe?.model).toBe('small');
  expect(one.requests.map(({ body }) => body?.['model'])).toContain('small');
  const unknown = await doctor({ flags: { provider: 'acne' } });
  expect(unknown.code).toBe(1);
  expect(unknown.found).toMatchObject([{ state: 'bad', fix: 'did you mean "acme"?' }]);
});
