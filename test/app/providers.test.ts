/** Providers: servers of models in the user's `factory.json` and in a project's, who may say what, and what a run records. */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listPrices } from '../../src/core/budget/price-list.ts';
import { house } from '../support/house.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const secret = 'acme-secret-0123456789';
const pipeline = (node = '', more = '') => `digraph t { workdir="."; ${more}
  start [shape=Mdiamond]; done [shape=Msquare]
  a [prompt=hello${node === '' ? '' : `, ${node}`}]; start -> a -> done }`;

type User = { readonly provider?: string; readonly providers?: object };
type Files = Readonly<Record<string, string>>;

/** A house with the user's file next to it, in whose text `URL` is the server's address. */
async function providers({
  files = {},
  user,
  reactions = [{ text: 'Hello' }],
  env = {},
}: {
  readonly files?: Files;
  readonly user?: User | string;
  readonly reactions?: readonly Reaction[];
  readonly env?: Readonly<Record<string, string>>;
}) {
  const server = await startModelServer(reactions, ['chat', 'responses']);
  const config = realpathSync(mkdtempSync(join(tmpdir(), 'factory-config-')));
  const userFile = join(config, 'factory/factory.json');
  mkdirSync(join(config, 'factory'));
  const write = (said: User | string) =>
    writeFileSync(
      userFile,
      (typeof said === 'string' ? said : JSON.stringify(said, null, 2)).replaceAll('URL', server.url),
    );
  if (user !== undefined) write(user);
  const it = await house({ 'p.dot': pipeline(), ...files });
  const variables = { ACME_LOGIN: secret, XDG_CONFIG_HOME: config, FACTORY_SANDBOX: 'none', ...env };
  it.environment(variables);
  return {
    ...{ it, server, config, userFile, write, variables },
    run: (flags = {}) => it.run('p.dot', { runId: 'r1', ...flags }),
    manifest: () => it.json('.factory/runs/r1/manifest.json'),
    models: () => server.requests.map(({ body }) => (body as { model?: string }).model),
    async [Symbol.asyncDispose]() {
      await server.close();
      rmSync(config, { recursive: true, force: true });
      await it[Symbol.asyncDispose]();
    },
  };
}

const headers = { 'X-Login': '$'.concat('{ACME_LOGIN}') };
const acme = { base_url: 'URL', key: 'ACME_LOGIN', api: 'chat', headers };
const user = {
  providers: { acme: { ...acme, models: ['large', 'small'], prices: { large: { input: 1e6, output: 0 } } } },
};

test('a provider of the user is asked by its name, and the run records its server without the key', async () => {
  await using its = await providers({ user });
  const ran = await its.run({ provider: 'acme' });
  expect(ran.code, ran.err).toBe(0);
  const [request] = its.server.requests;
  expect(request?.path).toBe('/v1/chat/completions');
  expect(request?.headers).toMatchObject({ authorization: `Bearer ${secret}`, 'x-login': secret });
  expect(its.models()).toEqual(['large']);
  const { agent, secrets } = its.manifest();
  expect(agent).toMatchObject({ name: 'openai', chosen_by: '--provider', provider: 'acme', model: 'large' });
  expect(agent.servers).toEqual({
    acme: {
      ...acme,
      base_url: its.server.url,
      models: ['large', 'small'],
      prices: { large: { input: 1e6, output: 0 } },
    },
  });
  expect(secrets).toContain('ACME_LOGIN');
  const run = join(its.it.path, '.factory/runs/r1');
  for (const file of readdirSync(run, { recursive: true, encoding: 'utf8', withFileTypes: true }))
    if (file.isFile())
      expect(readFileSync(join(file.parentPath, file.name), 'utf8'), file.name).not.toContain(secret);
  const shown = await its.it.show('r1');
  expect(shown.out).toContain(`openai large at ${its.server.url} (acme)`);
});

test('prices of a provider count for the limit on costs', async () => {
  const usage = { input_tokens: 3, output_tokens: 1 };
  await using its = await providers({ user, reactions: [{ text: 'Hello', usage }] });
  await its.run({ provider: 'acme' });
  expect(its.it.json('.factory/runs/r1/result.json').spent.cost_usd).toBe(3);
});

test('each provider has its own prices of a model with one name', async () => {
  const usage = { input_tokens: 1_000_000, output_tokens: 0 };
  const priced = (input: number) => ({ ...acme, prices: { 'gpt-5': { input, output: 0 } } });
  const ask = (id: string, provider: string) =>
    `${id} [prompt=x, llm_model="gpt-5", llm_provider=${provider}]`;
  await using its = await providers({
    user: { providers: { acme: priced(7), zeta: priced(100), local: { base_url: 'URL', api: 'chat' } } },
    reactions: [1, 2, 3, 4].map(() => ({ text: 'x', usage })),
    files: {
      'p.dot': `digraph t { workdir="."; start [shape=Mdiamond]; done [shape=Msquare]
        ${ask('a', 'acme')}; ${ask('b', 'zeta')}; ${ask('c', 'local')}; start -> a -> b -> c -> done }`,
    },
  });
  const ran = await its.run();
  expect(ran.code, ran.err).toBe(0);
  const { spent } = its.it.json('.factory/runs/r1/result.json');
  const [listed] = listPrices.filter(([model]) => model === 'gpt-5').map(([, input]) => input);
  expect(spent).toMatchObject({ cost_usd: 107 + (listed ?? Number.NaN), unknown_cost: 0 });
});

const free = { input: 0, output: 0 };
const dear = { input: 9, output: 0 };

test.for<[of: string, users: object, projects: object, cost: number]>([
  ['a bundled price', {}, { 'gpt-5': free }, 1.25],
  ['a bundled price, by a dated name', {}, { 'gpt-5-2025-08-07': free, 'GPT-5': free }, 1.25],
  ['a price of the user', { 'gpt-5': dear }, { 'GPT-5': free }, 9],
  ['a lower price of the user', { 'gpt-5': free }, { 'GPT-5': free }, 0],
  ['its own, higher price', {}, { 'gpt-5': dear }, 9],
])('a project does not lower prices: %s counts', async ([, users, projects, cost]) => {
  await using its = await providers({
    user: { providers: { acme: { ...acme, prices: users } } },
    files: { 'factory.json': JSON.stringify({ providers: { acme: { prices: projects } } }) },
    reactions: [{ text: 'Hello', usage: { input_tokens: 1_000_000, output_tokens: 0 } }],
  });
  const ran = await its.run({ provider: 'acme', model: 'gpt-5' });
  expect(ran.code, ran.err).toBe(0);
  expect(its.it.json('.factory/runs/r1/result.json').spent.cost_usd).toBe(cost);
});

test('a variable that a provider names is a secret to tools, whatever it is called', async () => {
  const tool = `digraph t { workdir=none; start [shape=Mdiamond]; done [shape=Msquare]
    t [shape=parallelogram, tool_command="echo [$ACME_LOGIN]"]; start -> t -> done }`;
  await using its = await providers({ user, files: { 'p.dot': tool } });
  expect((await its.run()).code).toBe(0);
  expect(its.it.read('.factory/runs/r1/t/tool.stdout.txt')).toContain('[]');
});

const asks = { OPENAI_API_KEY: 'sk-0123456789abcdef' };

test.for<[string, object]>([
  ['base_url', { openai: { base_url: 'URL' } }],
  ['key', { openai: { key: 'OPENAI_API_KEY' } }],
  ['headers', { openai: { headers } }],
  ['base_url', { evil: acme }],
])(
  'a project that sets %s of a provider is refused at its place, and nothing is sent',
  async ([key, given]) => {
    const text = JSON.stringify({ providers: given }, null, 2).replaceAll('URL', 'http://127.0.0.1:9/v1');
    await using its = await providers({ files: { 'factory.json': text }, env: asks });
    const ran = await its.run();
    expect(ran.code).toBe(2);
    expect(ran.err).toMatch(
      /error\[project-file\]: "providers\.\w+\.\w+" counts only in your own factory\.json/,
    );
    expect(ran.err).toMatch(/--> .*factory\.json:\d+:\d+/);
    expect(ran.err).toContain(`.${key}"`);
    expect(its.server.requests).toEqual([]);
    expect(readdirSync(its.it.path)).not.toContain('.factory');
  },
);

test.for<[string, string, RegExp]>([
  [
    'an unknown key',
    '{ "providers": { "openai": { "base_ur": "x" } } }',
    /unknown key "base_ur" in "providers.openai"[\s\S]*did you mean "base_url"\?/,
  ],
  ['an unknown top key', '{ "provders": {} }', /unknown key "provders"[\s\S]*did you mean "providers?"\?/],
  ['a key twice', '{ "providers": {}, "providers": { "x": {} } }', /gives "providers" twice/],
  [
    'an API of a provider that is unknown',
    '{ "providers": { "evil": { "api": "chat" } } }',
    /"providers.evil.api" is for a provider that is unknown/,
  ],
  ['a wrong API', '{ "providers": { "openai": { "api": "soap" } } }', /"providers.openai.api" /],
  ['a name of another form', '{ "providers": { "__proto__": {} } }', /has a key "__proto__"/],
  ['no object', '[]', /is no JSON object/],
])('a project file with %s is refused with its place', async ([, text, words]) => {
  await using its = await providers({ files: { 'factory.json': text }, env: asks });
  const ran = await its.run();
  expect(ran.code).toBe(2);
  expect(ran.err).toMatch(words);
  expect(ran.err).toMatch(/factory\.json:\d+:\d+/);
});

test('a project file that is a link out of the project, or huge, is refused, and its text is not shown', async () => {
  await using its = await providers({ user, env: asks });
  const file = join(its.it.path, 'factory.json');
  symlinkSync(its.userFile, file);
  const linked = await its.run();
  expect([linked.code, linked.err]).toEqual([
    2,
    expect.stringContaining('symbolic link that leads out of the project'),
  ]);
  expect(linked.err).not.toContain('ACME_LOGIN');
  rmSync(file);
  writeFileSync(file, `{"nodes":[${' '.repeat(1024 * 1024)}]}`);
  const huge = await its.run();
  expect([huge.code, huge.err]).toEqual([2, expect.stringContaining('is larger than 1 MiB')]);
});

test('a pipe in place of the user file is refused, and not waited for', async () => {
  await using its = await providers({});
  execFileSync('mkfifo', [its.userFile]);
  // What would be read from it were the pipe opened like a file.
  const writer = spawn('sh', ['-c', 'echo "{}" > "$0"', its.userFile]);
  try {
    const ran = await its.run({ agent: 'fake' });
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('is no file')]);
    expect(ran.err).toContain(its.userFile);
  } finally {
    writer.kill('SIGKILL');
  }
});

test('the user file is not read where others may write it', async () => {
  await using its = await providers({ user });
  chmodSync(its.userFile, 0o666);
  const ran = await its.run({ provider: 'acme' });
  expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('may be written by other users')]);
  expect(its.server.requests).toEqual([]);
});

test.for<[string, object]>([
  ['key', { key: 'sk-proj-Abc123def456ghi789' }],
  ['key, in letters and digits', { key: 'Abc123def456ghi789jkl012mno345pq' }],
  ['headers', { headers: { 'X-Api-Key': 'hunter2-hunter2' } }],
  ['an unknown key', { api_key: 'hunter2-hunter2' }],
])('a secret itself in %s of the user file is refused, and not shown', async ([, more]) => {
  await using its = await providers({ user: { providers: { acme: { ...acme, ...more } } } });
  const ran = await its.run({ provider: 'acme' });
  expect(ran.code).toBe(2);
  expect(ran.err).toContain('write the name of the variable');
  expect(ran.err + ran.out).not.toMatch(/Abc123|hunter2/);
});

test('settings of the project are refused in the user file', async () => {
  await using its = await providers({ user: '{ "nodes": ["./x.mjs"] }' });
  const ran = await its.run({ agent: 'fake' });
  expect([ran.code, ran.err]).toEqual([
    2,
    expect.stringContaining('"nodes" counts only in the factory.json of a project'),
  ]);
});

test('a factory.json in the workspace of a run is no configuration', async () => {
  const reactions = [{ text: 'One' }, { text: 'Two' }];
  await using its = await providers({ user, reactions, env: { FACTORY_PROVIDER: 'acme' } });
  await its.run();
  const workspace = join(its.it.path, '.factory/runs/r1/workspace');
  writeFileSync(
    join(workspace, 'factory.json'),
    JSON.stringify({ providers: { acme: { models: ['planted'] } }, provider: 'planted' }),
  );
  const again = await its.run({ runId: 'r2', workdir: workspace, runsdir: `${its.it.path}/other` });
  expect(again.code, again.err).toBe(0);
  expect(its.models()).toEqual(['large', 'large']);
});

test.for<[flags: object, node: string, words: RegExp, env?: object]>([
  [{ provider: 'acmee' }, '', /the provider "acmee" \(--provider\) is unknown[\s\S]*did you mean "acme"\?/],
  [
    { provider: 'mistral', model: 'm' },
    '',
    /for the provider "mistral" \(--provider\): there is no key: set MISTRAL_API_KEY/,
  ],
  [
    { provider: 'azure', model: 'm' },
    '',
    /the provider "azure" \(--provider\) has no address[\s\S]*base_url/,
  ],
  [{ provider: 'ollama' }, '', /no model of the provider "ollama" is named/],
  [
    { provider: 'acme', model: 'larg' },
    '',
    /the provider "acme" has no model "larg"[\s\S]*did you mean "large"\?/,
  ],
  [{}, 'llm_provider=acme, llm_model=smal', /p\.dot:3:\d+[\s\S]*did you mean "small"\?/],
  [
    {},
    'llm_provider=mistral, llm_model=m',
    /p\.dot:3[\s\S]*MISTRAL_API_KEY|MISTRAL_API_KEY[\s\S]*p\.dot:3/,
    asks,
  ],
  [{}, 'llm_provider=acmee, llm_model=m', /provider "acmee" \(llm_provider=acmee\) is unknown/, asks],
  [{}, 'llm_model="acme/small,acme/lrge"', /the provider "acme" has no model "lrge"/],
  [
    { provider: 'acme', agent: 'codex' },
    '',
    /the agent codex \(--agent\) has no models of the provider "acme"/,
  ],
])('%j and [%s] are refused before anything begins', async ([flags, node, words, env = {}]) => {
  await using its = await providers({ user, files: { 'p.dot': pipeline(node) }, env: { ...env } });
  const ran = await its.run(flags);
  expect(ran.code, ran.err).toBe(2);
  expect(ran.err).toMatch(words);
  expect(its.server.requests).toEqual([]);
  expect(readdirSync(its.it.path)).not.toContain('.factory');
});

const away = { base_url: 'https://models.invalid/v1', models: ['m'] };

test.for<[string, object, boolean]>([
  ['HTTPS_PROXY', { remote: away }, true],
  ['http_proxy', { remote: away }, true],
  ['HTTPS_PROXY', { remote: { base_url: 'URL', models: ['m'], api: 'chat' } }, false],
])('a wrong %s refuses a run that asks %j: %j', async ([name, named, isRefused]) => {
  await using its = await providers({ user: { providers: named }, env: { [name]: 'hunter2' } });
  const ran = await its.run({ provider: 'remote' });
  if (!isRefused) return expect(ran.code, ran.err).toBe(0);
  expect(ran.code).toBe(2);
  expect(ran.err).toMatch(
    new RegExp(`error\\[agent-proxy\\]: the provider "remote" of "m": ${name} is no address of a proxy`),
  );
  expect(ran.err).toMatch(/p\.dot:3:\d+/);
  expect(ran.err).not.toContain('hunter2');
  return expect(readdirSync(its.it.path)).not.toContain('.factory');
});

const open = {
  providers: {
    acme,
    openrouter: { base_url: 'URL', key: 'ACME_LOGIN' },
    openai: { base_url: 'URL', key: 'ACME_LOGIN' },
  },
};

test.for<[asked: string, flags: object, node: string, sheet?: string]>([
  ['large', {}, 'llm_model="acme/large"'],
  ['large', { model: 'acme/large' }, ''],
  ['openai/gpt-5', {}, 'llm_model="openai/gpt-5", llm_provider=openrouter'],
  ['openai/gpt-5', { provider: 'openrouter' }, 'llm_model="openai/gpt-5"'],
  ['openai/gpt-5', { model: 'openrouter/openai/gpt-5' }, ''],
  ['gpt-5', {}, 'llm_model="openai/gpt-5"'],
  ['acme/large', { provider: 'acme' }, 'llm_model="acme/large"'],
  ['m', {}, '', '* { provider: acme; model: m; }'],
  ['qwen/qwen3', { provider: 'acme', model: 'qwen/qwen3' }, ''],
])('the server is asked for %s by %j, [%s] and %s', async ([asked, flags, node, sheet = '']) => {
  const text = pipeline(node, sheet === '' ? '' : `model_stylesheet="${sheet}";`);
  await using its = await providers({ user: open, files: { 'p.dot': text } });
  const ran = await its.run(flags);
  expect(ran.code, ran.err).toBe(0);
  expect(its.models()).toEqual([asked]);
});

test('a name stays whole where OPENAI_BASE_URL names a server', async () => {
  await using its = await providers({ files: { 'p.dot': pipeline('llm_model="mistral/large"') } });
  its.it.environment({ ...its.variables, ...asks, OPENAI_BASE_URL: its.server.url });
  expect((await its.run()).code).toBe(0);
  expect(its.models()).toEqual(['mistral/large']);
});

test('a resume keeps the provider, and refuses another server until that is accepted', async () => {
  const text = pipeline('', '').replace('start -> a -> done', 'b [prompt=more]; start -> a -> b -> done');
  const reactions = [{ text: 'One' }, { text: 'Two' }];
  await using its = await providers({ user, files: { 'p.dot': text }, reactions });
  expect((await its.run({ provider: 'acme', maxSteps: '2' })).code).toBe(1);
  its.write({ providers: { acme: { ...acme, base_url: 'http://127.0.0.1:9/v1' } } });
  const other = await its.it.resume('r1', { maxSteps: '20' });
  expect(other.code).toBe(2);
  expect(other.err).toMatch(
    /server of the provider "acme" differs from the run's.*127\.0\.0\.1:9.* another base_url/,
  );
  its.write(user);
  its.it.environment({ ...its.variables, ...asks, FACTORY_PROVIDER: 'openai' });
  const resumed = await its.it.resume('r1', { maxSteps: '20' });
  expect(resumed.code, resumed.err).toBe(0);
  expect(its.models()).toEqual(['large', 'large']);
});

test('a changed server is used once it is accepted, and recorded as a change', async () => {
  const text = pipeline('', '').replace('start -> a -> done', 'b [prompt=more]; start -> a -> b -> done');
  await using its = await providers({
    user,
    files: { 'p.dot': text },
    reactions: [{ text: '1' }, { text: '2' }],
  });
  await its.run({ provider: 'acme', maxSteps: '2' });
  its.write({ providers: { acme: { ...acme, models: ['small'] } } });
  const refused = await its.it.resume('r1', { maxSteps: '20' });
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('differs from the run')]);
  const resumed = await its.it.resume('r1', { maxSteps: '20', acceptChanges: true, model: 'small' });
  expect(resumed.code, resumed.err).toBe(0);
  expect(its.models()).toEqual(['large', 'small']);
  const [{ changed }] = its.manifest().changes;
  expect(changed.map(({ what }: { what: string }) => what)).toContain('server of acme');
});

test('a fork whose server the files describe otherwise by now lists that among its changes', async () => {
  await using its = await providers({ user, reactions: [{ text: '1' }, { text: '2' }, { text: '3' }] });
  await its.run({ provider: 'acme' });
  const fork = async (runId: string) => {
    const forked = await its.it.fork('r1', { at: 'a', before: true, runId });
    expect(forked.code, forked.err).toBe(0);
    return its.it.json(`.factory/runs/${runId}/manifest.json`).forked_from.changed;
  };
  expect(await fork('same')).toEqual([]);
  its.write({ providers: { acme: { ...acme, headers: {}, models: ['large'] } } });
  expect(await fork('other')).toEqual(['server of acme']);
});

test('validate and run warn of a provider that neither factory nor the user knows, and of no other', async () => {
  const asked = (provider: string) => pipeline(`llm_provider=${provider}, llm_model=large`);
  const files = { 'p.dot': asked('acme'), 'q.dot': asked('acne') };
  await using its = await providers({ user, files });
  const known = await its.it.verb(['validate', 'p.dot']);
  expect(known.out + known.err).not.toContain('provider-unserved');
  expect((await its.run()).err).not.toContain('provider-unserved');
  const unknown = await its.it.verb(['validate', 'q.dot']);
  expect(unknown.out + unknown.err).toMatch(/provider-unserved[\s\S]*write acme/);
  // One without an address cannot be asked.
  its.write({ providers: { acme: { models: ['large'] } } });
  const bare = await its.it.verb(['validate', 'p.dot']);
  expect(bare.out + bare.err).toContain('provider-unserved');
});

test('explain and doctor say which server is asked, and with which key', async () => {
  await using its = await providers({ user: { ...user, provider: 'acme' } });
  const node = await its.it.verb(['explain', 'a'], { pipeline: 'p.dot' });
  expect(node.out).toContain(`server: acme at ${its.server.url}, api chat, key ACME_LOGIN`);
  const found = await its.it.verb(['doctor']);
  expect(found.out).toMatch(/acme: http:\/\/127\.0\.0\.1:\d+\/v1, key ACME_LOGIN/);
  expect(found.out).toMatch(/mistral: not set up \(MISTRAL_API_KEY is not set\)/);
  expect(found.out).not.toContain(secret);
  expect(its.server.requests).toEqual([]);
});
