/** The HTTP API over a few runs: what each endpoint answers. */
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { layout } from '../../src/core/records/layout.ts';
import { createClient, type StreamMessage } from '../../src/web/client.ts';
import { house } from '../support/house.ts';
import { type Served, served } from './served.ts';

const pipeline = `digraph g {
  graph [label="Make things", vars="spec=@spec.md, greeting=hello, name"]
  start [shape=Mdiamond] exit [shape=Msquare]
  make [shape=parallelogram, tool_command="printf 'one\\ntwo\\n' > a.txt; mkdir -p d; printf x > 'd/we \\"ird\\" é'; seq 1 5000"]
  change [shape=parallelogram, tool_command="printf 'one\\nTWO\\n' > a.txt; rm d/*; echo \${var.greeting}"]
  start -> make -> change -> exit
}`;
const failing = `digraph g {
  start [shape=Mdiamond] exit [shape=Msquare]
  check [shape=parallelogram, tool_command="echo it is broken >&2; exit 3"]
  start -> check -> exit
}`;

let place: Awaited<ReturnType<typeof house>>;
let server: Served;
let client: ReturnType<typeof createClient>;
const dirOf = (id: string): string => join(place.path, '.factory/runs', id);

beforeAll(async () => {
  place = await house({
    ...{ 'pipelines/p.dot': pipeline, 'fail.dot': failing, 'bad.dot': 'digraph {', 'spec.md': '# Things\n' },
    'docs/x.md': 'x',
  });
  await place.run('pipelines/p.dot', { runId: 'done', var: ['name=Ada', 'spec=spec.md'] });
  await place.run('fail.dot', { runId: 'failed' });
  server = await served(place.path);
  client = createClient({ url: server.url.href });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

test('the list has every run with its counts, newest first', async () => {
  const { counts, runs, runs_dir } = await client.runs();
  expect(runs_dir).toBe(join(place.path, '.factory/runs'));
  expect(counts).toEqual({ all: 2, needs_attention: 1, by_status: { completed: 1, failed: 1 } });
  expect(runs.map((run) => [run.run_id, run.title, run.status])).toEqual([
    ['failed', 'fail.dot', 'failed'],
    ['done', 'Make things', 'completed'],
  ]);
});

test('the list comes in pages and filtered, with the counts of all', async () => {
  const first = await client.runs({ query: { limit: 1 } });
  expect([first.runs.length, first.runs[0]?.run_id, first.counts.all]).toEqual([1, 'failed', 2]);
  const query = { limit: 1, after: first.after ?? '' };
  expect(await client.runs({ query })).toMatchObject({ runs: [{ run_id: 'done' }], after: null });
  const found = await client.runs({ query: { only: 'attention' } });
  expect([found.found, found.counts.all, found.runs.map(({ run_id }) => run_id)]).toEqual([1, 2, ['failed']]);
  expect((await client.runs({ query: { q: 'make THINGS' } })).runs).toHaveLength(1);
  for (const wrong of ['limit=0', 'limit=x', 'after=nothing', 'only=nothing'])
    expect((await server.ask(`/api/v1/runs?${wrong}`)).status, wrong).toBe(400);
});

test('the server says what it serves', async () => {
  expect(await client.server()).toMatchObject({ folder: place.path, read_only: false, agents: /codex/ });
});

test('a run, and one of its executions', async () => {
  const run = await client.run({ params: { id: 'done' } });
  expect(run.executions.map(({ node, visit, state }) => `${node}@${visit} ${state}`)).toEqual([
    ...['start@1 success', 'make@1 success', 'change@1 success', 'exit@1 success'],
  ]);
  const execution = await client.execution({ params: { id: 'failed', node: 'check', visit: 1 } });
  expect(execution).toMatchObject({ state: 'fail', excerpt: expect.stringContaining('it is broken') });
});

test('what does not exist is answered with 404 and a fix', async () => {
  for (const path of ['runs/none', 'runs/done/nodes/make/9', 'runs/done/nodes/nothing/1', 'nothing']) {
    const { status, text } = await server.ask(`/api/v1/${path}`);
    expect([status, JSON.parse(text).code], path).toEqual([404, 'not-found']);
  }
});

test('a file of an execution comes in parts, raw, or whole as a download', async () => {
  const file = '/api/v1/runs/done/nodes/make/1/files/tool.stdout.txt';
  const whole = readFileSync(join(dirOf('done'), 'make/tool.stdout.txt'), 'utf8');
  const part = await server.ask(`${file}?from=2&to=8`);
  expect(part.text).toBe(whole.slice(2, 8));
  expect(part.headers).toMatchObject({
    'x-file-bytes': String(whole.length),
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  expect((await server.ask(`${file}?from=999999999`)).text).toBe('');
  const download = await server.ask(`${file}?download=1`);
  expect(download.text).toBe(whole);
  expect(download.headers['content-disposition']).toBe('attachment; filename="make-1-tool.stdout.txt"');
  expect(
    await client.file({
      params: { id: 'done', node: 'make', visit: 1, name: 'tool.stdout.txt' },
      query: { to: 4 },
    }),
  ).toBe(whole.slice(0, 4));
});

test.each([
  [{}, 'change@1'],
  [{ to: 'make' }, 'make@1'],
  [{ from: 'make' }, 'change@1'],
])('a changed file names the execution that changed it last between the moments %j', async (query, by) => {
  const { files } = await client.changes({ params: { id: 'done' }, query });
  expect(files.find(({ path }) => path === 'a.txt')?.by).toBe(by);
});

test('the changes of a run and of an execution are patches per file', async () => {
  const all = await client.changes({ params: { id: 'done' } });
  expect(all.files.map(({ path, what, added, removed }) => ({ path, what, added, removed }))).toEqual([
    { path: 'a.txt', what: 'created', added: 2, removed: 0 },
    { path: 'd', what: 'created', added: 0, removed: 0 },
  ]);
  const one = await client.changes({ params: { id: 'done' }, query: { at: 'change' } });
  expect(one).toMatchObject({ from: { moment: 'before change@1' }, more: 0, withheld: false });
  expect(one.files.map(({ path, what }) => `${what} ${path}`)).toEqual([
    'modified a.txt',
    'deleted d/we "ird" é',
  ]);
  expect(one.files[0]?.patch).toMatch(/^diff --git a\/a\.txt b\/a\.txt\n[\s\S]*@@\n one\n-two\n\+TWO\n$/);
  expect(one.files[1]).toMatchObject({ removed: 1, cut: false, why_not: '' });
  const path = await client.changes({ params: { id: 'done' }, query: { path: 'a.txt' } });
  expect(path.files).toHaveLength(1);
  await expect(client.changes({ params: { id: 'done' }, query: { at: 'nobody' } })).rejects.toMatchObject({
    ...{ status: 400, code: 'refused', message: expect.stringContaining('no visit of a node "nobody"') },
  });
});

test('events are served from any seq on, page by page', async () => {
  const all = await client.events({ params: { id: 'done' } });
  expect(all).toMatchObject({ more: false, last: all.events.length });
  expect(all.events.map(({ seq }) => seq)).toEqual(all.events.map((_, at) => at + 1));
  expect(all.events.at(-1)).toMatchObject({ type: 'PipelineCompleted', run_id: 'done' });
  const page = await client.events({ params: { id: 'done' }, query: { after: 2, limit: 3 } });
  expect(page).toMatchObject({ last: 5, more: true });
  expect(page.events.map(({ seq }) => seq)).toEqual([3, 4, 5]);
});

test('pipelines of the folder and bundled ones are offered with their variables', async () => {
  const { pipelines } = await client.pipelines();
  expect(pipelines.find(({ name }) => name === 'pipelines/p.dot')).toEqual({
    ...{ name: 'pipelines/p.dot', source: 'folder', label: 'Make things', valid: true, from: 'folder' },
    ...{ title: 'Make things', file: join(place.path, 'pipelines/p.dot'), workdir: place.path },
    variables: [
      { name: 'spec', default: 'spec.md', required: false, file: true, label: 'spec' },
      { name: 'greeting', default: 'hello', required: false, file: false, label: 'greeting' },
      { name: 'name', default: null, required: true, file: false, label: 'name' },
    ],
  });
  expect(pipelines.find(({ name }) => name === 'bad.dot')).toMatchObject({ valid: false });
  expect(pipelines.find(({ name }) => name === 'compile-and-build')).toMatchObject({ source: 'bundled' });
  const { files } = await client.files({ query: { under: 'docs' } });
  expect(files).toEqual([{ path: 'docs/x.md', bytes: 1 }]);
});

test('pictures are SVG that runs nothing when it is opened by itself', async () => {
  for (const name of ['graph', 'timeline']) {
    const { headers, text } = await server.ask(`/api/v1/runs/done/${name}.svg`);
    expect(text).toMatch(/^<svg|^<\?xml/);
    expect(headers['content-type']).toBe('image/svg+xml; charset=utf-8');
    expect(headers['content-security-policy']).toMatch(/sandbox$/);
  }
});

test('the map of a run has its nodes and edges in pieces, without states', async () => {
  const map = await client.map({ params: { id: 'done' } });
  expect(map.nodes.map(({ id }) => id)).toEqual(['start', 'exit', 'make', 'change']);
  expect(map.edges.map(({ parts }) => parts[0]?.to)).toEqual(['make', 'change', 'exit']);
  expect(JSON.stringify(map)).not.toMatch(/data-state=\\"(?!none)/);
});

/** The messages of a stream until `enough` is true. */
async function messagesUntil(
  stream: AsyncIterable<StreamMessage>,
  enough: (message: StreamMessage) => boolean,
): Promise<readonly StreamMessage[]> {
  const found: StreamMessage[] = [];
  for await (const message of stream) {
    found.push(message);
    if (enough(message)) break;
  }
  return found;
}
const isReady = ({ event }: StreamMessage): boolean => event === 'ready';
const seqsOf = (messages: readonly StreamMessage[]): readonly number[] =>
  messages.flatMap((one) => (one.event === 'event' ? [one.data.seq] : []));

test('a stream replays the events from any seq on, and then what comes', async () => {
  const { last } = await client.events({ params: { id: 'failed' } });
  const all = await messagesUntil(client.stream({ params: { id: 'failed' } }), isReady);
  expect(all[0]).toMatchObject({ event: 'run', data: { run_id: 'failed', status: 'failed' } });
  expect(seqsOf(all)).toHaveLength(last);
  const rest = client.stream({ params: { id: 'failed' }, query: { after: last - 2 } });
  expect(seqsOf(await messagesUntil(rest, isReady))).toEqual([last - 1, last]);
  // The line of a resume, as its owner would append it.
  const next = {
    seq: last + 1,
    run_id: 'failed',
    epoch: 9,
    schema_version: 1,
    at: '2030-01-01T00:00:00.000Z',
  };
  const more = messagesUntil(
    client.stream({ params: { id: 'failed' }, query: { after: last } }),
    (message) => {
      if (isReady(message))
        appendFileSync(
          layout(dirOf('failed')).events,
          `${JSON.stringify({ ...next, type: 'PipelineStarted', agent: 'none', resumed: true })}\n`,
        );
      return message.event === 'event';
    },
  );
  expect(seqsOf(await more)).toEqual([last + 1]);
});

test('Last-Event-ID wins over the address', async () => {
  const stream = await fetch(new URL('/api/v1/runs/done/stream?after=0', server.url), {
    headers: { authorization: `Bearer ${server.token}`, 'last-event-id': '5' },
  });
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('event: ready')) text += (await reader?.read())?.value ?? '';
  await reader?.cancel();
  expect(/id: (\d+)/.exec(text)?.[1]).toBe('6');
});

test('10,000 events are replayed at once', async () => {
  cpSync(dirOf('done'), dirOf('long'), { recursive: true });
  const { events } = layout(dirOf('long'));
  const lines = Array.from({ length: 10_000 }, (_, at) =>
    JSON.stringify({
      ...{ seq: at + 1, run_id: 'long', epoch: 1, schema_version: 1, at: '2026-01-01T00:00:00.000Z' },
      ...{ type: 'StageRetrying', node_id: 'make', retry_count: at, reason: 'again and again', delay_ms: 1 },
    }),
  );
  writeFileSync(events, `${lines.join('\n')}\n`);
  const all = await messagesUntil(client.stream({ params: { id: 'long' } }), isReady);
  expect(seqsOf(all)).toHaveLength(10_000);
  expect((await client.events({ params: { id: 'long' }, query: { after: 4000 } })).events).toHaveLength(6000);
});

test('the list streams what changes, and a removed run ends its stream', async () => {
  cpSync(dirOf('done'), dirOf('short-lived'), { recursive: true });
  let removed = Promise.resolve<readonly StreamMessage[]>([]);
  const one = messagesUntil(client.stream({ params: { id: 'short-lived' } }), (message) => {
    if (isReady(message))
      removed = messagesUntil(client.runsStream({ query: { limit: 1 } }), ({ event }) => {
        if (event === 'runs') rmSync(dirOf('short-lived'), { recursive: true });
        return event === 'gone';
      });
    return false;
  });
  const gone = { event: 'gone', data: { run_id: 'short-lived' } };
  expect((await one).at(-1)).toEqual(gone);
  const [first, ...later] = await removed;
  expect(first).toMatchObject({ event: 'runs', data: { runs: [{ run_id: 'failed' }], counts: { all: 4 } } });
  expect(later).toEqual([gone]);
});

test('a run of another version, and one without its files, are shown as such', async () => {
  cpSync(dirOf('done'), dirOf('damaged'), { recursive: true });
  writeFileSync(layout(dirOf('damaged')).manifest, '{"schema_version": 99}');
  const { runs } = await client.runs();
  expect(runs.find(({ run_id }) => run_id === 'damaged')).toMatchObject({
    status: 'unreadable',
    acts: ['remove'],
  });
  const { status, text } = await server.ask('/api/v1/runs/damaged');
  expect([status, JSON.parse(text).code]).toEqual([409, 'refused']);
  expect((await client.events({ params: { id: 'damaged' } })).events.length).toBeGreaterThan(5);
  rmSync(dirOf('damaged'), { recursive: true });
});

test('the page is served for every other path, once per content', async () => {
  const first = await server.ask('/runs/done/nodes/make@1', { headers: { authorization: '' } });
  expect(first.status).toBe(200);
  const etag = String(first.headers['etag']);
  const again = await server.ask('/', { headers: { 'if-none-match': `"x", ${etag}` } });
  expect([again.status, again.text]).toEqual([304, '']);
});

test('acts that a run is in no state for are refused, and leave no line', async () => {
  await expect(client.stop({ params: { id: 'done' }, body: {} })).rejects.toMatchObject({ status: 409 });
  await expect(client.deliver({ params: { id: 'done' }, body: {} })).rejects.toMatchObject({
    ...{ status: 409, code: 'refused', message: expect.stringContaining('makes no commits') },
  });
  await expect(client.start({ body: { pipeline: 'elsewhere.dot' } })).rejects.toMatchObject({ status: 400 });
  for (const spec of ['/etc/passwd', '../x', '.factory/runs/done/manifest.json'])
    await expect(
      client.start({ body: { pipeline: 'pipelines/p.dot', vars: { spec } } }),
    ).rejects.toMatchObject({
      ...{ status: 400, message: expect.stringContaining(`${spec} is no file of the folder: it `) },
    });
  expect(() => readFileSync(layout(dirOf('done')).acts)).toThrow('ENOENT');
});
