/** How GitHub is asked: pages, ETags, retries, limits, and what is said when it refuses. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answersIn } from '../../src/github/answer-store.ts';
import { endOfLog } from '../../src/github/check-runs.ts';
import { type GitHub, gitHub } from '../../src/github/client.ts';
import { GitHubError, gitHubRefusal } from '../../src/github/error.ts';
import { gitHubServer } from '../../src/github/server.ts';
import { realSend } from '../../src/platform/http.ts';
import { type HandClock, handClock } from '../support/clock.ts';
import { type FakeGitHub, fakeToken, startGitHub } from '../support/github-server.ts';

const asIs = (text: string) => text;
let server: FakeGitHub;
let folder = '';
let clock: HandClock;
beforeEach(async () => {
  server = await startGitHub();
  server.repository('org/app');
  folder = mkdtempSync(join(tmpdir(), 'factory-github-'));
  clock = handClock();
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const client = (more: { token?: string; kept?: boolean; signal?: AbortSignal } = {}): GitHub => {
  const env = { GITHUB_API_URL: server.url, GITHUB_TOKEN: more.token ?? fakeToken };
  const is = gitHubServer(env, folder);
  if ('problems' in is) throw new Error(JSON.stringify(is));
  return gitHub(is, {
    ...{ clock, send: realSend, signal: more.signal ?? new AbortController().signal },
    ...(more.kept === true ? { kept: answersIn(join(folder, 'answers')) } : {}),
  });
};
const failure = async (work: Promise<unknown>): Promise<GitHubError> => {
  const error = await work.then(
    () => undefined,
    (why: unknown) => why,
  );
  if (!(error instanceof GitHubError)) throw new Error(`not refused: ${String(error)}`);
  return error;
};
const labelled = '/repos/org/app/issues?labels=factory&per_page=100';
const numbers = (items: readonly unknown[]) => items.map((one) => (one as { number: number }).number);

test('all pages of a list are read', async () => {
  server.pageSize = 2;
  for (let n = 0; n < 5; n++) server.repository('org/app').issue();
  expect(numbers(await client().pages(labelled))).toEqual([1, 2, 3, 4, 5]);
  expect(server.requests.length).toBe(3);
});

test('an unchanged list is answered from what an earlier command has kept, with all of its pages', async () => {
  server.pageSize = 2;
  for (let n = 0; n < 3; n++) server.repository('org/app').issue();
  await client({ kept: true }).pages(labelled);
  expect(numbers(await client({ kept: true }).pages(labelled))).toEqual([1, 2, 3]);
  expect(server.requests.map(({ status }) => status)).toEqual([200, 200, 304, 304]);
  server.repository('org/app').issue();
  expect(numbers(await client({ kept: true }).pages(labelled))).toEqual([1, 2, 3, 4]);
  expect(statSync(join(folder, 'answers')).isDirectory()).toBe(true);
});

test('an item that begins another page is seen, though the page before it has not changed', async () => {
  const full = labelled.replace('100', '2');
  for (let n = 0; n < 2; n++) server.repository('org/app').issue();
  expect(numbers(await client({ kept: true }).pages(full))).toEqual([1, 2]);
  server.repository('org/app').issue();
  expect(numbers(await client({ kept: true }).pages(full))).toEqual([1, 2, 3]);
});

test('a kept answer that is damaged is asked for again', async () => {
  server.repository('org/app').issue();
  const kept = answersIn(join(folder, 'answers'));
  await kept.set('u', { etag: '"1"', body: [1] });
  expect(kept.get('u')).toMatchObject({ etag: '"1"', body: [1] });
  const { readdirSync } = await import('node:fs');
  const [file = ''] = readdirSync(join(folder, 'answers'));
  expect(statSync(join(folder, 'answers', file)).mode & 0o777).toBe(0o600);
  writeFileSync(join(folder, 'answers', file), '{"url": "u", "eta');
  expect(kept.get('u')).toBe(undefined);
});

test('a failing server is asked again after growing pauses, and then given up', async () => {
  for (let n = 0; n < 2; n++) server.react(() => true, { status: 502, body: '<html>' });
  await client().get('/repos/org/app');
  expect(clock.waits).toEqual([1000, 2000]);
  for (let n = 0; n < 9; n++) server.react(() => true, { status: 500, body: '{"message":"Server Error"}' });
  const error = await failure(client().get('/repos/org/app'));
  expect(error.message).toBe('GitHub answers 500 to GET /repos/org/app (Server Error)');
  expect(gitHubRefusal(error, clock.now())).toMatchObject({
    code: 75,
    problems: [{ fix: 'run the same command again later' }],
  });
  expect(server.requests.length).toBe(3 + 4);
});

test('a change is never sent twice by itself', async () => {
  server.react(() => true, { status: 502 });
  const error = await failure(client().change('POST', '/repos/org/app/pulls', { head: 'x' }));
  expect([error.trouble.kind, server.requests.length]).toEqual(['outage', 1]);
});

const now = Date.UTC(2026, 0, 1);
test.for([
  ['seconds', 403, { 'retry-after': '90' }, '', now + 90_000],
  ['a date', 429, { 'retry-after': 'Thu, 01 Jan 2026 01:00:00 GMT' }, '', now + 3_600_000],
  ['nothing', 429, {}, '', now + 60_000],
  [
    'a reset',
    403,
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 600) },
    '',
    now + 600_000,
  ],
  [
    'a reset that has passed',
    403,
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 - 5) },
    '',
    now + 1000,
  ],
  ['words', 403, {}, '{"message":"You have exceeded a secondary rate limit."}', now + 60_000],
] as const)(
  'a limit that says %s is said with its end, and nothing is asked again',
  async ([, status, headers, body, until]) => {
    server.react(() => true, { status, headers, body });
    const error = await failure(client().get('/repos/org/app'));
    expect(error.trouble).toEqual({ kind: 'limit', until: new Date(until) });
    const { code, problems } = gitHubRefusal(error, clock.now());
    expect([code, problems[0]?.fix]).toEqual([75, expect.stringContaining(new Date(until).toISOString())]);
    expect([server.requests.length, clock.waits]).toEqual([1, []]);
  },
);

test.for([
  [401, '{"message":"Bad credentials"}', 'token', 2, /does not take the token/],
  [403, '{"message":"Resource not accessible"}', 'access', 2, /403 .*\(Resource not accessible\)/],
  [404, '{"message":"Not Found"}', 'access', 2, /404 to GET \/repos\/org\/app/],
  [422, '{"message":"Failed","errors":[{"message":"no head"}]}', 'rejected', 1, /Failed: no head/],
  [200, '<html>a login page</html>', 'rejected', 1, /not one of the GitHub API/],
] as const)('%s %s is %s', async ([status, body, kind, code, words]) => {
  server.react(() => true, { status, body });
  const error = await failure(client().get('/repos/org/app'));
  expect([error.trouble.kind, error.message]).toEqual([kind, expect.stringMatching(words)]);
  expect(gitHubRefusal(error, clock.now()).code ?? 2).toBe(code);
  expect(error.message).not.toContain(fakeToken);
});

test('a redirect is followed on the same server only: the token goes nowhere else', async () => {
  server.repository('org/new-name');
  const moved = { status: 301, headers: { location: '/repos/org/new-name' } };
  server.react(({ path }) => path === '/repos/org/app', moved);
  expect(await client().get('/repos/org/app')).toMatchObject({ full_name: 'org/new-name' });
  await using other = await startGitHub();
  for (const headers of [
    { location: `${other.url}/repos/org/app` },
    { link: `<${other.url}/x>; rel="next"` },
  ]) {
    server.react(() => true, { status: 'location' in headers ? 302 : 200, headers, body: '[]' });
    const error = await failure(client().pages('/repos/org/app/issues'));
    expect(error.message).toContain('another server');
  }
  expect(other.requests).toEqual([]);
});

test('an endless list of pages ends', async () => {
  const again = { status: 200, headers: { link: `<${server.url}/x>; rel="next"` }, body: '[]' };
  for (let n = 0; n < 401; n++) server.react(() => true, again);
  expect((await failure(client().pages('/x'))).message).toContain('GITHUB_API_URL');
});

test('a signal ends a request', async () => {
  const end = new AbortController();
  server.onRequest = () => end.abort();
  const error = await failure(client({ signal: end.signal }).get('/repos/org/app'));
  expect(error.trouble.kind).toBe('interrupted');
});

test.for([
  ['RATE_LIMITED', { type: 'RATE_LIMITED', message: 'API rate limit exceeded' }],
  [
    'RATE_LIMIT',
    { type: 'RATE_LIMIT', code: 'graphql_rate_limit', message: 'API rate limit already exceeded' },
  ],
  ['a secondary limit', { message: 'You have exceeded a secondary rate limit. Please wait.' }],
] as const)('a limit of queries, which comes with status 200, is waited for: %s', async ([, error]) => {
  const reset = clock.now().getTime() / 1000 + 1800;
  const headers = { 'x-ratelimit-reset': String(reset), 'x-ratelimit-remaining': '12' };
  server.react(() => true, { status: 200, headers, body: JSON.stringify({ data: null, errors: [error] }) });
  const { trouble } = await failure(client().query('query Any { viewer { login } }', {}));
  const until = new Date('type' in error ? reset * 1000 : clock.now().getTime() + 60_000);
  expect(trouble).toEqual({ kind: 'limit', until });
});

test('a query that GitHub gave up is asked again, and waiting helps', async () => {
  const message = 'Something went wrong while executing your query. This may be the result of a timeout.';
  const body = JSON.stringify({ data: null, errors: [{ message }] });
  for (let n = 0; n < 4; n++) server.react(() => true, { status: 200, body });
  const error = await failure(client().query('query Any { viewer { login } }', {}));
  expect(error.trouble).toEqual({ kind: 'outage' });
  expect(server.requests.length).toBe(4);
});

/** A server with other content, as logs have. */
async function otherServer(answer: (out: ServerResponse, incoming: IncomingMessage) => void) {
  const asked: IncomingMessage[] = [];
  const other = createServer((incoming, out) => {
    asked.push(incoming);
    answer(out, incoming);
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo; // listening on a port, so it is no pipe's name
  return {
    ...{ asked, url: `http://127.0.0.1:${port}/log?signature=abc` },
    async [Symbol.asyncDispose]() {
      other.closeAllConnections();
      await new Promise((resolve) => other.close(resolve));
    },
  };
}
const logPath = '/repos/org/app/actions/jobs/5/logs';

test('the end of a log is read from the server that has it, without the token', async () => {
  await using other = await otherServer((out) => out.end(`${'line\n'.repeat(100_000)}the last one\n`));
  server.repository('org/app').logs['5'] = other.url;
  const end = await client().logEnd(logPath);
  expect(end?.endsWith('line\nthe last one\n')).toBe(true);
  expect(end?.length).toBe(64 * 1024);
  expect(other.asked.map(({ headers, url }) => [headers.authorization, url])).toEqual([
    [undefined, '/log?signature=abc'],
  ]);
});

test('of a log no further redirect is followed, and no address without encryption', async () => {
  await using other = await otherServer((out) => out.writeHead(302, { location: server.url }).end('x'));
  const { logs } = server.repository('org/app');
  logs['5'] = other.url;
  expect(await client().logEnd(logPath)).toBe(undefined);
  for (const location of ['http://logs.example/', 'file:///etc/passwd', 'nonsense:', 'http://127.0.0.1:1/']) {
    logs['5'] = location;
    expect(await client().logEnd(logPath)).toBe(undefined);
  }
  expect([other.asked.length, server.requests.length]).toEqual([1, 5]);
  expect((await failure(client().logEnd('/repos/org/app/actions/jobs/6/logs'))).trouble.kind).toBe('access');
});

test('a log ends with its last error, without times and colours', () => {
  const time = '2026-01-02T10:00:00.1234567Z ';
  const lines = [
    '##[group]Run npm test',
    '\x1b[31mfailed\x1b[0m: a.test.ts',
    '##[error]exit code 1.',
    'Cleaning up',
  ];
  expect(endOfLog(`\uFEFF${lines.map((line) => `${time}${line}\r\n`).join('')}`, asIs)).toBe(
    '##[group]Run npm test\nfailed: a.test.ts\n##[error]exit code 1.',
  );
  expect(endOfLog('no error\n', asIs)).toBe('no error');
});
