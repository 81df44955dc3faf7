/** Notices of `--notify`: what they say, how they are signed and retried, and that they change nothing about a run. */
import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type NotifyHost, notify, type RunLeft } from '../../src/app/run/notify.ts';
import { type Post, realPost } from '../../src/platform/http.ts';
import { handClock } from '../support/clock.ts';
import { call } from '../support/verb.ts';

const pipeline = (command: string) => `digraph g {
  label="The title" workdir="none"
  start [shape=Mdiamond]
  one [shape=parallelogram, tool_command="${command}"]
  exit [shape=Msquare]
  start -> one
  one -> exit [condition="outcome=success"]
}`;
const env = { PATH: process.env['PATH'], HOME: '/nonexistent', FACTORY_SANDBOX: 'none' };
let top = '';
let runDir = '';
const file = (name: string) => join(top, name);
const noticeIn = (name: string) => JSON.parse(readFileSync(file(name), 'utf8'));

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'factory-notify-'));
  writeFileSync(file('p.dot'), pipeline('test -z \\"$FACTORY_NOTIFY_SECRET\\"'));
  writeFileSync(file('bad.dot'), pipeline('exit 3'));
  runDir = file('.factory/runs/r1');
});
afterAll(() => rmSync(top, { recursive: true, force: true }));

test('a command gets the notice of a completed run on standard input; nodes do not see the secret', async () => {
  const ran = await call(
    ['run', 'p.dot'],
    { runId: 'r1', notify: 'cat > notice.json' },
    { cwd: top, env: { ...env, FACTORY_NOTIFY_SECRET: 'a long secret' } },
  );
  expect(ran.code, ran.err).toBe(0);
  expect(noticeIn('notice.json')).toMatchObject({
    schema_version: 1,
    delivery_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    run_id: 'r1',
    title: 'The title',
    pipeline: 'p.dot',
    status: 'completed',
    needs_attention: false,
    exit_code: 0,
    reason: '',
    spent: { calls: 0 },
    run_dir: runDir,
  });
});

test('a failed run says why and what to do next, and a command that fails changes nothing about it', async () => {
  const doors = { cwd: top, env, clock: handClock() };
  const ran = await call(['run', 'bad.dot'], { runId: 'r2', notify: 'cat >> failed.json; exit 7' }, doors);
  expect(ran.code).toBe(1);
  expect(ran.err).toContain('notification was not delivered why="the command exited with 7"');
  const [first = '', ...more] = readFileSync(file('failed.json'), 'utf8').trim().split('\n');
  expect(more).toEqual([first, first, first]);
  expect(JSON.parse(first)).toMatchObject({
    status: 'failed',
    needs_attention: true,
    exit_code: 1,
    reason: expect.stringContaining('no route from node one'),
    next: expect.stringContaining('resume r2'),
  });
});

test('a run that is refused sends nothing', async () => {
  const ran = await call(['run', 'p.dot'], { runId: 'r1', notify: 'cat > refused.json' }, { cwd: top, env });
  expect(ran.code).toBe(2);
  expect(existsSync(file('refused.json'))).toBe(false);
  for (const target of ['ftp://host/x', 'https://user:pw@host/', 'http://'])
    expect((await call(['run', 'p.dot'], { notify: target }, { cwd: top, env })).err).toContain('--notify: ');
});

const broke: RunLeft = { broke: 'the disk is full', next: 'factory resume r1' };
const doorsWith = (post: Post, more: Partial<NotifyHost> = {}) => {
  const clock = handClock();
  const warnings: unknown[] = [];
  const log = (...record: unknown[]) => void warnings.push(record.slice(1));
  const { signal } = new AbortController();
  return { doors: { cwd: top, env: {}, clock, log, signal, post, ...more }, clock, warnings };
};

test('a server gets the same signed body until it takes it', async () => {
  const answers = [{ unreachable: 'connection refused' }, { status: 503 }, { status: 204 }];
  const sent: Parameters<Post>[0][] = [];
  const post: Post = async (request) => answers[sent.push(request) - 1] ?? { status: 500 };
  const { doors, clock, warnings } = doorsWith(post, { env: { FACTORY_NOTIFY_SECRET: 'key' } });
  await notify('https://example.org/hook/abc', runDir, broke, doors);
  expect(warnings).toEqual([]);
  const [{ body, headers } = { body: '', headers: {} }, ...more] = sent;
  expect(more.map((one) => [one.body, one.headers])).toEqual([
    [body, headers],
    [body, headers],
  ]);
  const { delivery_id, sent_at, ...notice } = JSON.parse(body);
  expect(notice).toMatchObject({ status: 'crashed', reason: 'the disk is full', next: 'factory resume r1' });
  expect(headers).toMatchObject({
    'X-Factory-Delivery': delivery_id,
    'X-Factory-Timestamp': sent_at,
    'X-Factory-Signature': `sha256=${createHmac('sha256', 'key').update(body).digest('hex')}`,
  });
  const [first = 0, second = 0] = clock.waits;
  expect([first > 700 && first <= 1000, second > 2900 && second <= 4000]).toEqual([true, true]);
});

test.for([
  ['gives up after four attempts', { status: 500 }, 4, 'example.org answered 500'],
  ['does not repeat what a server refuses', { status: 404 }, 1, 'example.org answered 404'],
  [
    'names an unreachable host, not the secret in its path',
    { unreachable: 'no route' },
    4,
    'example.org: no route',
  ],
] as const)('the notice %s', async ([, answer, attempts, why]) => {
  let asked = 0;
  const post: Post = async () => {
    asked += 1;
    return answer;
  };
  const { doors, warnings } = doorsWith(post);
  await notify('https://example.org/hook/abc', runDir, broke, doors);
  expect(asked).toBe(attempts);
  expect(warnings).toEqual([['notification was not delivered', { why }]]);
});

test('after a signal nothing is retried', async () => {
  let asked = 0;
  const post: Post = async () => {
    asked += 1;
    return { status: 500 };
  };
  const { doors } = doorsWith(post, { signal: AbortSignal.abort() });
  await notify('https://example.org/', runDir, broke, doors);
  expect(asked).toBe(1);
});

test('a real server is reached, its redirects are not followed, and one that is gone is reported', async () => {
  const seen: unknown[] = [];
  const server = createServer((request, response) => {
    request.on('data', (bytes) => seen.push([request.method, request.headers['x-a'], String(bytes)]));
    request.on('end', () => response.writeHead(302, { location: '/other' }).end('moved'));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const request = { url: `http://127.0.0.1:${port}/`, headers: { 'X-A': 'b' }, body: '{}', timeoutMs: 5000 };
  expect(await realPost(request)).toEqual({ status: 302 });
  expect(seen).toEqual([['POST', 'b', '{}']]);
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  expect(await realPost(request)).toEqual({ unreachable: expect.stringContaining('ECONNREFUSED') });
});
