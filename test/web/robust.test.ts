/** A server that meets damaged runs, cut uploads, proxies and many readers. */
import { appendFileSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { house } from '../support/house.ts';
import { call } from '../support/verb.ts';
import { type Served, served } from './served.ts';

const token = 'a-long-enough-token';
const pipeline = `digraph g { workdir="none"; start [shape=Mdiamond]; exit [shape=Msquare]
  a [shape=parallelogram, tool_command="echo one"]; start -> a; a -> exit [condition="outcome=success"] }`;

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
const dirOf = (id: string) => join(place.path, '.factory/runs', id);

beforeAll(async () => {
  place = await house({ 'p.dot': pipeline });
  for (const runId of ['one', 'huge', 'holed', 'live', 'filed'])
    await place.run('p.dot', { runId, quiet: true });
  writeFileSync(join(place.path, 'token'), `${token}\n`);
  server = await served(place.path, { tokenFile: 'token', publicUrl: 'https://ci.example.org' });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test('the token of a file is used and not printed with the address of this machine', async () => {
  expect([server.url.origin, server.token]).toEqual(['https://ci.example.org', token]);
});

test.for([
  ['what nginx sends by default', { origin: 'https://ci.example.org' }, 202],
  ['with the host passed on', { host: 'ci.example.org', origin: 'https://ci.example.org' }, 202],
  ['the end of a tunnel', { host: 'localhost:9000', origin: 'http://localhost:9000' }, 202],
  ['another page', { origin: 'https://evil.example' }, 403],
  ['another name', { host: 'evil.example', origin: 'http://evil.example' }, 403],
  ['the public name without TLS', { host: 'ci.example.org', origin: 'http://ci.example.org:81' }, 403],
] as const)('an act through a proxy: %s', async ([, headers, status]) => {
  const sent = { 'content-type': 'application/json', ...headers };
  const answer = await server.ask('/api/v1/runs/one/resume', { method: 'POST', body: '{}', headers: sent });
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
});

test('a cookie of a server behind TLS is sent over TLS only', async () => {
  const { status, headers } = await server.ask(`/?token=${token}`, { headers: { authorization: '' } });
  expect([status, String(headers['set-cookie'])]).toEqual([
    303,
    expect.stringMatching(/HttpOnly; Secure; SameSite=Strict/),
  ]);
});

test.for([
  ['/metric', 404],
  ['/favicon.ico', 404],
  ['/runs/one/x', 404],
  ['/', 200],
  ['/runs/one/nodes/a@1', 200],
] as const)('%s is answered with %i', async ([path, status]) => {
  expect((await server.ask(path)).status).toBe(status);
});

test('a stream asks proxies not to hold it back', async () => {
  const { headers } = await server.ask('/api/v1/stream', { method: 'HEAD' });
  expect(headers['x-accel-buffering']).toBe('no');
});

test('runs with files that no run has are unreadable one by one, with the reason', async () => {
  truncateSync(join(dirOf('huge'), 'journal.jsonl'), 3e9);
  rmSync(join(dirOf('holed'), 'lock'), { recursive: true });
  writeFileSync(join(dirOf('holed'), 'lock'), 'no folder');
  writeFileSync(join(dirOf('live'), '.live.jsonl'), '');
  truncateSync(join(dirOf('live'), '.live.jsonl'), 8e9);
  const { runs } = await server.json('/api/v1/runs');
  const found = runs.map(({ run_id, status, headline }: Record<string, string>) => [
    run_id,
    status,
    headline,
  ]);
  expect(found).toContainEqual(['huge', 'unreadable', expect.stringMatching(/journal\.jsonl/)]);
  for (const id of ['one', 'live']) expect(found).toContainEqual([id, 'completed', expect.any(String)]);
  expect(found.map(([id]: string[]) => id)).toContain('holed');
});

test('the view of such a run says what is wrong, and removing runs passes over it', async () => {
  rmSync(join(dirOf('filed'), 'a'), { recursive: true });
  writeFileSync(join(dirOf('filed'), 'a'), 'no folder');
  const answers = await Promise.all(
    ['huge', 'filed/nodes/a/1'].map((path) => server.ask(`/api/v1/runs/${path}`)),
  );
  expect(answers.map(({ status, text }) => [status, JSON.parse(text).message])).toEqual([
    [
      409,
      expect.stringMatching(/huge\/journal\.jsonl: line \d+ has more than 256 MiB, which no run writes; /),
    ],
    [500, expect.stringMatching(/filed\/a\/workspace\.diff\.json: a file exists where a folder is needed$/)],
  ]);
  const at = { cwd: place.path, env: {} };
  const pruned = await call(['prune'], { keep: 1, dryRun: true }, at);
  expect([pruned.code, pruned.out]).toEqual([0, expect.not.stringContaining('huge (')]);
  expect(await call(['rm', 'huge'], {}, at)).toMatchObject({ code: 2 });
  expect(await call(['rm', 'huge'], { force: true }, at)).toMatchObject({ code: 0 });
});

test('an upload that is cut is no error of the server, which answers on', async () => {
  const { port } = server;
  await new Promise<void>((done) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(
        `POST /api/v1/runs HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"pip`,
        () => socket.destroy(),
      );
    });
    socket.once('close', () => done());
  });
  expect((await server.ask('/api/v1/server')).status).toBe(200);
  expect(server.err()).not.toContain('internal error');
});

test('files of a node are withheld until its engine has masked them', async () => {
  const folder = join(dirOf('crash'), 'a');
  await place.run('p.dot', { runId: 'crash', quiet: true });
  const journal = join(dirOf('crash'), 'journal.jsonl');
  const lines = (await place.read('.factory/runs/crash/journal.jsonl')).split('\n');
  const began = lines.findIndex((line) => line.includes('"type":"Began"') && line.includes('"node":"a"'));
  writeFileSync(
    journal,
    lines
      .slice(0, began + 1)
      .map((line) => `${line}\n`)
      .join(''),
  );
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, 'tool.stdout.txt'), 'a secret\n');
  const { status, text } = await server.ask('/api/v1/runs/crash/nodes/a/1/files/tool.stdout.txt');
  expect([status, JSON.parse(text).code]).toEqual([403, 'withheld']);
  expect((await server.json('/api/v1/runs/crash/nodes/a/1')).output).toEqual([]);
});

test.for([
  [{ publicUrl: 'ci.example.org' }, /no address of a server/],
  [{ publicUrl: 'https://ci.example.org/factory' }, /no address of a server/],
  [{ publicUrl: 'https://ci.example.org' }, /no token is given/],
  [{ tokenFile: 'missing' }, /--token-file missing: there is no such file/],
] as const)('a wrong setting is refused: %j', async ([flags, why]) => {
  const told = await call(['serve'], { port: 0, ...flags }, { cwd: place.path, env: {} });
  expect([told.code, told.out]).toEqual([2, '']);
  expect(told.err).toMatch(why);
});

test('a token in the variable is used', async () => {
  await using other = await served(place.path, {}, { FACTORY_SERVE_TOKEN: token });
  expect(other.token).toBe(token);
});
