/** What strangers get of `factory serve`: nothing. */
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g {
  start [shape=Mdiamond] make [shape=parallelogram, tool_command="echo made"] exit [shape=Msquare]
  start -> make -> exit
}`;
const writing = `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  make [shape=parallelogram, tool_command="echo key $SOME_API_KEY > settings.ini"]
  start -> make -> exit
}`;
let place: Awaited<ReturnType<typeof house>>;
let server: Served;
let readOnly: Served;
const file = '/api/v1/runs/one/nodes/make/1/files';

beforeAll(async () => {
  place = await house({
    'p.dot': pipeline,
    'sub/.hidden/key.dot': writing,
    'secret.txt': 'top secret',
    'sub/.hidden/x': 'top secret',
  });
  await place.run('p.dot', { runId: 'one' });
  symlinkSync(join(place.path, '.factory/runs/one'), join(place.path, '.factory/runs/linked'));
  mkdirSync(join(place.path, 'runs2/two'), { recursive: true });
  server = await served(place.path);
  readOnly = await served(place.path, { readOnly: true });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await readOnly[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

const origin = () => `http://127.0.0.1:${server.url.port}`;
const cookie = (value = server.token) => ({
  authorization: '',
  cookie: `factory_${server.url.port}=${value}`,
});

test.for([
  ['no token', { authorization: '' }, 401],
  ['a wrong token', { authorization: 'Bearer AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }, 401],
  ['an empty token', { authorization: 'Bearer ' }, 401],
  ['another scheme', { authorization: 'Basic dG9rZW4=' }, 401],
  ['a wrong cookie', { authorization: '', cookie: 'factory_1=x; factory=y' }, 401],
  ['the name of another site', { host: 'evil.example' }, 403],
  ['the name of another site with our port', { host: `evil.example:${'PORT'}` }, 403],
  ['a name that only begins like ours', { host: 'localhost.evil.example:PORT' }, 403],
  ['another origin', { origin: 'http://evil.example' }, 403],
  ['the origin of another port', { origin: 'http://127.0.0.1:1' }, 403],
  ['no origin that could be named', { origin: 'null' }, 403],
  ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 403],
  ['a page of another port', { 'sec-fetch-site': 'same-site' }, 403],
] as const)('%s gets no answer of the API', async ([, headers, status]) => {
  const sent = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', server.url.port)]),
  );
  for (const path of ['/api/v1/runs', '/api/v1/runs/one', `${file}/tool.stdout.txt`, '/api/v1/stream']) {
    const answer = await server.ask(path, { headers: sent });
    expect(answer.status, path).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ message: expect.stringMatching(/./), code: /./ });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    expect(answer.text).not.toContain('make');
  }
});

test('the names of this machine and both origins of the page are accepted', async () => {
  const { port } = server.url;
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])
    expect((await server.ask('/api/v1/runs', { headers: { host, origin: `http://${host}` } })).status).toBe(
      200,
    );
});

test('the token of the address becomes a strict cookie, and the address loses it', async () => {
  const { ask, token, url } = server;
  const answer = await ask(`//evil.example/x?token=${token}&a=1`, { headers: { authorization: '' } });
  expect(answer.status).toBe(303);
  expect(answer.headers['location']).toBe('/evil.example/x?a=1');
  const [set = ''] = [answer.headers['set-cookie'] ?? []].flat();
  expect(set).toContain(`factory_${url.port}=${token}`);
  expect(set).toMatch(/HttpOnly/);
  expect(set).toMatch(/SameSite=Strict/);
  expect((await ask('/api/v1/runs', { headers: cookie() })).status).toBe(200);
  const wrong = await ask('/?token=wrong', { headers: { authorization: '' } });
  expect([wrong.status, wrong.headers['set-cookie']]).toEqual([401, undefined]);
});

test('a browser with the cookie acts only from the page of this server', async () => {
  const body = '{}';
  const sent = (headers: Record<string, string>) =>
    server.ask('/api/v1/runs/one/stop', { method: 'POST', body, headers: { ...cookie(), ...headers } });
  const type = { 'content-type': 'application/json' };
  expect((await sent(type)).status, 'without Origin').toBe(403);
  expect((await sent({ ...type, origin: 'http://evil.example' })).status).toBe(403);
  expect((await sent({ ...type, origin: origin(), 'sec-fetch-site': 'none' })).status).toBe(403);
  expect((await sent({ 'content-type': 'text/plain', origin: origin() })).status).toBe(400);
  expect((await sent({ ...type, origin: origin(), 'sec-fetch-site': 'same-origin' })).status, 'ours').toBe(
    409,
  );
});

test('every answer binds the browser to this server', async () => {
  for (const path of ['/', '/runs/one', '/api/v1/runs', '/api/v1/nothing']) {
    const { headers } = await server.ask(path);
    expect(headers, path).toMatchObject({
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'$/,
      ),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
  }
});

test.for([
  '../../../manifest.json',
  '..%2f..%2f..%2fmanifest.json',
  '%2e%2e/%2e%2e/manifest.json',
  '%2e%2e%2f%2e%2e%2fmanifest.json',
  '..%5c..%5cmanifest.json',
  '..%252f..%252fmanifest.json',
  '%2fetc%2fpasswd',
  '//etc/passwd',
  'tool.stdout.txt%00',
  'tool.stdout.txt/../../../manifest.json',
  'linked.txt',
])('no file beyond the listed ones is served: %s', async (name) => {
  symlinkIfMissing(join(place.path, 'secret.txt'), join(place.path, '.factory/runs/one/make/linked.txt'));
  const { status, text } = await server.ask(`${file}/${name}`);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(text).not.toMatch(/root:|schema_version|top secret/);
});

test('a link that a node has left in its folder is not followed', async () => {
  const links = ['prompt.md', 'response.md', 'more.stdout.txt'];
  for (const name of links)
    symlinkIfMissing(join(place.path, 'secret.txt'), join(place.path, '.factory/runs/one/make', name));
  const { status, text } = await server.ask('/api/v1/runs/one/nodes/make/1');
  expect(status).toBe(200);
  expect(text).not.toContain('top secret');
  const { prompt, answer, files } = JSON.parse(text);
  expect([prompt, answer]).toEqual([null, null]);
  expect(files.map(({ name }: { name: string }) => name)).not.toEqual(expect.arrayContaining(links));
});

test('what a node that was given a secret has written into files is masked', async () => {
  const env = { SOME_API_KEY: 'sk-0123456789abcdef' };
  place.environment({ HOME: place.path, ...env });
  await place.run('sub/.hidden/key.dot', { runId: 'key', runsdir: '.keys', envPass: ['SOME_API_KEY'] });
  await using it = await served(place.path, { runsdir: '.keys' }, env);
  // As a program leaves it that is killed before the engine masks it.
  writeFileSync(join(place.path, '.keys/key/make/own.stdout.txt'), `key ${env.SOME_API_KEY}\n`);
  const node = '/api/v1/runs/key/nodes/make/1';
  for (const path of [
    ...['/api/v1/runs/key/changes', '/api/v1/runs/key/changes?path=settings.ini', node],
    ...[`${node}/files/own.stdout.txt`, `${node}/files/own.stdout.txt?download=1`],
  ]) {
    const { status, text } = await it.ask(path);
    expect(status, path).toBe(200);
    expect(text, path).toContain('key ***');
    expect(text, path).not.toContain(env.SOME_API_KEY);
  }
});

function symlinkIfMissing(to: string, path: string): void {
  try {
    symlinkSync(to, path);
  } catch {}
}

test('no file below a linked folder is served', async () => {
  const run = join(place.path, '.factory/runs/other');
  cpSync(join(place.path, '.factory/runs/one'), run, { recursive: true });
  renameSync(join(run, 'make'), join(place.path, 'elsewhere'));
  symlinkSync(join(place.path, 'elsewhere'), join(run, 'make'));
  const { status } = await server.ask('/api/v1/runs/other/nodes/make/1/files/tool.stdout.txt');
  rmSync(run, { recursive: true });
  rmSync(join(place.path, 'elsewhere'), { recursive: true });
  expect(status).toBe(404);
});

test('a run behind a link is not in the list', async () => {
  const { runs } = await server.json('/api/v1/runs');
  expect(runs.map(({ run_id }: { run_id: string }) => run_id)).toEqual(['one']);
});

test.for([
  'linked',
  '..',
  '.',
  '%2e%2e',
  'one%2f..',
  '..%2ftwo',
  'one%00',
  'no-such',
  'one/../one%2fx',
  'ONE%2F',
])('no other folder is served as a run: %s', async (id) => {
  const { status } = await server.ask(`/api/v1/runs/${id}/events`);
  expect(status).toBe(404);
});

test('names that begin with a dot, links and other folders are not among the files', async () => {
  symlinkIfMissing('/etc', join(place.path, 'sub/etc'));
  writeFileSync(join(place.path, '.env'), 'KEY=x');
  const { files } = await server.json('/api/v1/files');
  expect(files.map(({ path }: { path: string }) => path)).toEqual(['p.dot', 'secret.txt']);
  for (const under of ['..', '/etc', 'sub/etc', 'sub/.hidden', '.factory', 'sub/../..'])
    expect((await server.ask(`/api/v1/files?under=${under}`)).text, under).not.toMatch(/passwd|"x"|runs/);
});

test('a read-only server refuses every act and offers none', async () => {
  for (const path of [
    '/api/v1/runs',
    ...['stop', 'resume', 'fork', 'deliver'].map((act) => `/api/v1/runs/one/${act}`),
  ])
    expect((await readOnly.post(path, {})).status, path).toBe(405);
  const { runs } = await readOnly.json('/api/v1/runs');
  expect(runs[0].acts).toEqual([]);
  expect((await readOnly.json('/api/v1/runs/one')).acts).toEqual([]);
});

test('other methods are refused, and HEAD is GET without a body', async () => {
  for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH', 'POST']) {
    const { status, headers } = await server.ask('/api/v1/runs/one', { method });
    expect([status, headers['allow']], method).toEqual([405, 'GET, HEAD']);
  }
  for (const path of ['/api/v1/runs', '/api/v1/runs/one/stream', '/api/v1/stream', '/']) {
    const { status, text } = await server.ask(path, { method: 'HEAD' });
    expect([status, text], path).toEqual([200, '']);
  }
  expect((await server.ask('/x', { method: 'POST' })).status).toBe(405);
});

test('a body that is too large, no JSON, or has an unknown field is refused', async () => {
  const post = (body: string) =>
    server.ask('/api/v1/runs', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
  expect((await post(`"${'x'.repeat(1024 * 1024)}"`)).status).toBe(413);
  expect((await post('{')).status).toBe(400);
  expect(JSON.parse((await post('{"pipeline":"p.dot","surprise":1}')).text)).toMatchObject({
    code: 'bad-request',
    message: expect.stringContaining('surprise'),
  });
  expect((await post('{"pipeline":"p.dot","vars":{"a":"@/etc/passwd"}}')).status).toBe(400);
});

test.for([
  [{ host: '0.0.0.0' }, '', /no token is given/],
  [{}, 'short', /16 to 200/],
  [{ host: '203.0.113.7' }, 'a-long-enough-token', /cannot listen on 203\.0\.113\.7/],
] as const)(
  'a server that would be open, or cannot listen, does not start: %j',
  async ([flags, token, why]) => {
    const env = { FACTORY_SERVE_TOKEN: token };
    const told = await call(['serve'], { port: 0, ...flags }, { cwd: place.path, env });
    expect([told.code, told.out]).toEqual([2, '']);
    expect(told.err).toMatch(why);
  },
);

test('a port in use is named', async () => {
  const told = await call(['serve'], { port: Number(server.url.port) }, { cwd: place.path, env: {} });
  expect(told.err).toMatch(/port \d+ of 127\.0\.0\.1 is in use[\s\S]*--port 0/);
});
