/** A server of made-up runs with the addresses of the HTTP API and the built page, for states that take long to reach. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ChangeList, PipelineList, RunList } from '../../src/app/answers.ts';
import type { Estimate } from '../../src/app/estimate.ts';
import { newestFirst, runPage } from '../../src/app/inspect/run-pages.ts';
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import type { RunView } from '../../src/app/inspect/shapes.ts';
import type { GraphMap } from '../../src/app/picture/map-shape.ts';
import { typedCommand } from '../../src/app/typed-command.ts';
import type { QueueReport } from '../../src/core/records/queue-report.ts';
import { startApi } from '../../src/web/api/start.ts';
import { startArguments } from '../../src/web/start-arguments.ts';
import { type CheckReport, startBodySchema } from '../../src/web/start-contract.ts';
import { madeQueue } from '../support/queue-report.ts';
import { madeChanges, madeEvents, madeExecution, madeOutput, madeRuns, madeView } from './runs.ts';
import { madeSession } from './session.ts';

const page = join(import.meta.dirname, '../../dist/page');
const types: Readonly<Record<string, string>> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
};
/** The policy of `factory serve`: the page must live with it. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const project = '/home/ada/project';
const estimate: Estimate = {
  ...{ schema_version: 1, pipeline: '/w/my.dot', runs: 3, others: 1, unknown_cost: 0 },
  cost_usd: { median: 1.5, least: 0.3, most: 4 },
  tokens: { median: 120_000, least: 40_000, most: 300_000 },
  elapsed_ms: { median: 600_000, least: 60_000, most: 3_600_000 },
};

const pipelines: PipelineList['pipelines'] = [
  {
    ...{ name: 'my.dot', file: '/w/my.dot', from: 'folder', source: 'folder', valid: true },
    ...{ title: 'Build the docs', label: 'Build the docs', workdir: project },
    variables: [
      { name: 'spec', default: null, required: true, file: true, label: 'spec' },
      { name: 'tries', default: '3', required: false, file: false, label: 'tries' },
    ],
  },
  {
    ...{ name: 'compile-and-build', file: '/f/compile-and-build.dot', from: 'bundled', source: 'bundled' },
    ...{ title: 'Plan and build', label: 'Plan and build', valid: true, variables: [], workdir: null },
  },
];

export interface MadeServer extends AsyncDisposable {
  readonly url: string;
  readonly rows: readonly RunRow[];
  /** Bodies of POST requests, with their paths. */
  readonly asked: { readonly path: string; readonly body: unknown }[];
  /** Sends a message on all open streams of the list. */
  readonly tell: (event: string, data: unknown) => void;
}

/** `events` of each run, `lines` of each output. */
export async function madeServer(
  size: { runs: number; events: number; lines: number; changes?: ChangeList },
  queue: () => QueueReport = () => madeQueue(Date.now()),
): Promise<MadeServer> {
  const rows = madeRuns(size.runs);
  const asked: { path: string; body: unknown }[] = [];
  const streams: ServerResponse[] = [];
  const tell = (event: string, data: unknown) => {
    for (const one of streams) send(one, event, data);
  };
  const server = createServer((request, response) => {
    response.setHeader('Content-Security-Policy', policy);
    void answer({ rows, asked, streams, queue, ...size }, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, rows, asked, tell, [Symbol.asyncDispose]: () => closed(server) };
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

type Content = Pick<MadeServer, 'rows' | 'asked'> & {
  readonly events: number;
  readonly lines: number;
  readonly changes?: ChangeList;
  readonly streams: ServerResponse[];
  readonly queue: () => QueueReport;
};

async function answer(
  content: Content,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://made');
  if (request.method === 'POST') return acted(content, path, request, response);
  const list = () => listOf(content.rows, query);
  const [, id, rest = ''] = /^\/api\/v1\/runs\/([^/]+)\/?(.*)$/.exec(path) ?? [];
  const row = content.rows.find(({ run_id }) => run_id === id);
  if (row !== undefined) return ofRun(content, row, rest, query, response);
  if (path === '/api/v1/server')
    return json(response, {
      ...{ version: '0.1.0', folder: project, runs_dir: `${project}/.factory/runs` },
      ...{ read_only: false, agents: ['codex', 'openai'], roots: [project] },
    });
  if (path === '/api/v1/settings') return json(response, await startApi.settings({} as never));
  if (path === '/api/v1/folders')
    return json(response, { folders: [project, `${project}/docs`], more: false });
  if (path === '/api/v1/estimate') return json(response, estimate);
  if (path === '/api/v1/runs') return json(response, list());
  if (path === '/api/v1/stream') {
    content.streams.push(response);
    return send(stream(response), 'runs', list());
  }
  if (path === '/api/v1/queue') return json(response, content.queue());
  if (path === '/api/v1/queue/stream') return send(stream(response), 'queue', content.queue());
  if (path === '/api/v1/pipelines') return json(response, { pipelines });
  if (path === '/api/v1/files')
    return json(response, { files: [{ path: 'docs/spec.md', bytes: 1200 }], more: false });
  if (path.startsWith('/api/'))
    return json(response, { code: 'not-found', message: 'no such run', fix: '' }, 404);
  const name = /^\/(\w+(?:-\w+)?\.(?:js|css|svg))$/.exec(path)?.[1] ?? 'index.html';
  response.setHeader('Content-Type', types[name.split('.').at(-1) ?? ''] ?? '');
  return response.end(readFileSync(join(page, name)));
}

function listOf(rows: readonly RunRow[], query: URLSearchParams): RunList {
  const limit = query.get('limit');
  const after = query.get('after');
  return runPage('', rows.toSorted(newestFirst), {
    ...{ only: 'all', q: '' },
    ...(limit === null ? {} : { limit: Number(limit) }),
    ...(after === null ? {} : { after }),
  });
}

async function acted(
  { asked }: Content,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = JSON.parse(Buffer.concat(parts).toString());
  if (path === '/api/v1/check') return void json(response, checkOf(body));
  asked.push({ path, body });
  if (path.endsWith('/answer')) return answered(body, response);
  if (path.endsWith('/steer')) return void json(response, { note: { note: 1 } });
  const commits = [{ commit: 'abcdef1234567890', subject: 'Links' }];
  json(response, {
    ...{
      run_id: '01M80004ABCDEFGHJKMNPQRS',
      command: 'factory',
      branch: 'factory/01M8',
      source: null,
      to: null,
      base: null,
      head: 'abcdef',
      commits,
    },
    ...{ needed: [], notes: [], pushed: null, next: '' },
  });
}

function checkOf(body: unknown): CheckReport {
  const start = startBodySchema().parse(body);
  const missing = start.vars['spec'] === undefined && start.texts['spec'] === undefined ? ['spec'] : [];
  const command = typedCommand('factory', startArguments(start));
  const finding = { code: 'empty-prompt', severity: 'warning', message: 'node "a" has no prompt' } as const;
  const place = { file: 'my.dot', line: 3, column: 5 };
  return { command, missing, findings: [{ ...finding, fix: 'write prompt="…"', place }] };
}

/** Somebody else has chosen before who chooses A. */
function answered(body: { choice?: string; text?: string }, response: ServerResponse): void {
  if (body.choice === 'A')
    json(response, { code: 'answer-taken', message: 'ada answered first: Request changes', fix: '' }, 409);
  else json(response, { question: 'gate@2', resumed: 'background', why: '' });
}

function ofRun(
  { events, lines, changes = madeChanges }: Content,
  row: RunRow,
  rest: string,
  query: URLSearchParams,
  response: ServerResponse,
): ServerResponse {
  const view = madeView(row, 5);
  if (rest === '') return json(response, view);
  if (rest === 'changes') return json(response, changes);
  if (rest === 'map') return json(response, madeMap(view.graph));
  const later = madeEvents(view, events).filter(({ seq }) => seq > Number(query.get('after')));
  if (rest === 'events') return json(response, { events: later, last: events, more: false });
  if (rest === 'stream') {
    stream(response);
    send(response, 'run', row);
    for (const event of later) send(response, 'event', event, event.seq);
    send(response, 'ready', { last: events });
    const last = view.executions.at(-1);
    if (row.status === 'running' && last !== undefined)
      send(response, 'live', {
        at: row.started_at,
        node: last.node,
        visit: last.visit,
        channel: 'stdout',
        begins: true,
        text: '\x1b[32mok\x1b[0m 1\n',
      });
    return response;
  }
  const [, node, visit, file] = /^nodes\/([^/]+)\/(\d+)(\/files\/.+|\/session)?$/.exec(rest) ?? [];
  const execution = view.executions.find((one) => one.node === node && one.visit === Number(visit));
  if (execution === undefined)
    return json(response, { code: 'not-found', message: 'no such execution', fix: '' }, 404);
  if (file === '/session') return json(response, madeSession(execution));
  if (file === undefined) return json(response, madeExecution(execution, madeOutput(lines)));
  response.setHeader('Content-Type', 'text/plain');
  return response.end(madeOutput(lines));
}

/** One node below the other. */
const madeMap = ({ nodes }: RunView['graph']): GraphMap => ({
  ...{ schema_version: 1, width: 300, height: nodes.length * 60, defs: '', edges: [], boxes: [] },
  nodes: nodes.map(({ id, label }, at) => ({
    ...{ id, label, of: [id], opens: null, leads: null, about: '', room: 100 },
    box: [80, at * 60 + 10, 140, 36],
    svg: `<g class="node" data-node="${id}"><rect class="outline" x="80" y="${at * 60 + 10}" width="140" height="36" fill="#fff" stroke="#888"/><text class="label" x="150" y="${at * 60 + 26}" text-anchor="middle">${id}</text><text class="details" x="90" y="${at * 60 + 40}"/></g>`,
  })),
});

function json(response: ServerResponse, value: unknown, status = 200): ServerResponse {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  return response.end(JSON.stringify(value));
}

function stream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  return response;
}

function send(response: ServerResponse, event: string, data: unknown, id?: number): ServerResponse {
  response.write(
    `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
  );
  return response;
}
