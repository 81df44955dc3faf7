/** The queue over HTTP: what it looks like, its changes, and its metrics. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import { fleetLayout } from '../../src/fleet/layout.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { house } from '../support/house.ts';
import { readPrometheus } from '../support/prometheus.ts';
import { type Served, served } from './served.ts';

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
let queue: JobQueue;

const job = (run_id: string, labels: readonly string[] = []) => ({
  ...{ schema_version: 1 as const, run_id, title: `The ${run_id}`, priority: 0, labels },
  ...{ submitted_at: '2026-01-01T00:00:00.000Z', submitted_by: 'ada' },
  request: { cwd: place.path, run: ['p.dot'], resume: [] },
});

beforeAll(async () => {
  place = await house({ 'p.dot': 'digraph g { start [shape=Mdiamond] exit [shape=Msquare] start -> exit }' });
  server = await served(place.path);
  const opened = await openQueue(join(place.path, '.factory/runs'), { clock: realClock, env: {} });
  if ('problems' in opened) throw new Error('no queue');
  queue = opened;
});
afterAll(async () => {
  await queue.close();
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test('a folder whose queue was never used has an empty one, and reading it writes nothing', async () => {
  const answer = await server.json('/api/v1/queue');
  expect(answer).toMatchObject({
    ...{ place: 'folder', jobs: [], workers: [] },
    counts: { running: 0, waiting: 0, later: 0, held: 0, needs_person: 0, needs_person_later: 0 },
  });
});

test('the stream begins with the queue, and sends it again when it has changed', async () => {
  const texts = messages('/api/v1/queue/stream?most=1');
  expect((await texts.next()).value).toMatchObject({ counts: { waiting: 0 } });
  await queue.submit(['one', 'two'].map((id) => ({ job: job(id, ['docs']), target: 'now' as const })));
  const { value } = await texts.next();
  expect(value).toMatchObject({ counts: { waiting: 2 } });
  expect(value.jobs.map(({ run_id }: { run_id: string }) => run_id)).toEqual(['one']);
  await texts.return(undefined);
  const all = await server.json('/api/v1/queue');
  expect(all.jobs).toMatchObject([
    { run_id: 'one', state: 'waiting', why: 'no worker runs', has_run: false },
    { run_id: 'two' },
  ]);
});

test('/metrics wants the token of the API, and counts runs and jobs', async () => {
  expect((await server.ask('/metrics', { headers: { authorization: '' } })).status).toBe(401);
  expect((await server.ask('/metrics', { headers: { host: 'evil.example' } })).status).toBe(403);
  const { text, headers } = await server.ask('/metrics');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const sampleOf = (name: string, state?: string) =>
    readPrometheus(text)
      .find((one) => one.name === name)
      ?.samples.find(({ labels }) => state === undefined || labels['state'] === state)?.value;
  expect(sampleOf('factory_queue_up')).toBe(1);
  expect(sampleOf('factory_jobs', 'waiting')).toBe(2);
  expect(sampleOf('factory_labelled_jobs')).toBe(2);
  expect(text).not.toContain('The one');
});

test('a queue that is in a database is said to be, and the rest of the server answers', async () => {
  await using other = await house({});
  const { queue: at } = fleetLayout(join(other.path, '.factory/runs'));
  mkdirSync(at.root, { recursive: true });
  writeFileSync(
    at.database,
    JSON.stringify({
      schema_version: 1,
      id: '01M8',
      host: 'db',
      port: 5432,
      database: 'factory',
      schema: 'factory',
    }),
  );
  await using its = await served(other.path);
  const answer = await its.ask('/api/v1/queue');
  expect(answer.status).toBe(409);
  expect(JSON.parse(answer.text).fix).toContain('FACTORY_DB');
  expect(
    readPrometheus((await its.ask('/metrics')).text).find(({ name }) => name === 'factory_queue_up')?.samples,
  ).toEqual([{ labels: {}, value: 0 }]);
});

test('a run is submitted, moved, held and dropped; what is wrong with a request changes nothing', async () => {
  const submit = (body: object) => server.post('/api/v1/queue', { pipeline: 'p.dot', ...body });
  const put = await submit({ priority: 3, labels: ['night'], not_before: '2h' });
  const [{ run_id }] = JSON.parse(put.text).runs;
  const rowOf = async () =>
    (await server.json('/api/v1/queue')).jobs.find((one: { run_id: string }) => one.run_id === run_id);
  expect(await rowOf()).toMatchObject({ state: 'later', priority: 3, labels: ['night'] });
  const change = async (what: string, body: object = {}) =>
    JSON.parse((await server.post(`/api/v1/queue/${run_id}/${what}`, body)).text);
  expect(await change('move', { to: 'now' })).toMatchObject({ answer: 'moved', state: 'waiting' });
  expect(await rowOf()).toMatchObject({ state: 'waiting' });
  expect(await change('hold')).toMatchObject({ answer: 'held', state: 'held' });
  expect(await rowOf()).toMatchObject({ why: 'held by page' });
  expect(await change('drop')).toMatchObject({ answer: 'dropped', state: null });
  expect(await rowOf()).toBeUndefined();
  const refused = [
    await submit({ labels: ['a b'] }),
    await submit({ not_before: '2000-01-01T00:00:00Z', priority: 5000 }),
    await submit({ pipeline: 'missing.dot' }),
    await submit({ vars: { spec: '@../outside.md' } }),
    await server.post(`/api/v1/queue/one/move`, { to: 'now', priority: 1 }),
    await server.post(`/api/v1/queue/none/drop`, {}),
  ];
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 404]);
  expect((await server.json('/api/v1/queue')).counts).toMatchObject({ waiting: 2, later: 0, held: 0 });
});

test('a read-only server and strangers change nothing in the queue', async () => {
  await using readOnly = await served(place.path, { readOnly: true });
  for (const path of ['/api/v1/queue', '/api/v1/queue/one/drop'])
    expect((await readOnly.post(path, { pipeline: 'p.dot' })).status).toBe(405);
  const { status } = await server.post('/api/v1/queue/one/drop', {}, { origin: 'http://evil.example' });
  expect(status).toBe(403);
  expect((await server.json('/api/v1/queue')).jobs[0]).toMatchObject({ run_id: 'one' });
});

/** The data of each message of a stream. */
async function* messages(path: string): AsyncGenerator {
  const response = await new Promise<AsyncIterable<Buffer>>((done, failed) => {
    const headers = { authorization: `Bearer ${server.token}` };
    get({ host: '127.0.0.1', port: server.port, path, headers }, done).on('error', failed);
  });
  let text = '';
  for await (const piece of response) {
    text += piece.toString();
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}
