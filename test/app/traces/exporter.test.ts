/** Traces: what a collector on loopback receives of whole runs, and where the environment sends them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { traceTarget } from '../../../src/app/traces/target.ts';
import { startModelServer } from '../../support/model-server.ts';
import { call } from '../../support/verb.ts';

type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: Record<string, unknown> }[];
  status: { code: number; message?: string };
};
type Received = { path: string | undefined; headers: IncomingHttpHeaders; body: string };

let top = '';
let received: Received[] = [];
let status = 200;
let answer = '{}';
/** The collector takes requests and answers none. */
let isSilent = false;
const collector = createServer((request, response) => {
  let body = '';
  request.on('data', (piece: Buffer) => {
    body += piece.toString();
  });
  request.on('end', () => {
    received.push({ path: request.url, headers: request.headers, body });
    response.statusCode = status;
    if (!isSilent) response.end(answer);
  });
});
const address = () => `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;

beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'factory-traces-'));
  await new Promise<void>((listening) => collector.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  rmSync(top, { recursive: true, force: true });
  collector.closeAllConnections();
  await new Promise((closed) => collector.close(closed));
});
beforeEach(() => {
  received = [];
  status = 200;
  answer = '{}';
  isSilent = false;
});
afterEach(() => rmSync(join(top, '.factory'), { recursive: true, force: true }));

const env = () => ({
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  FACTORY_SANDBOX: 'none',
  OTEL_EXPORTER_OTLP_ENDPOINT: `${address()}/`,
});

const spansIn = (all: readonly Received[]): Span[] =>
  all.flatMap(({ body }) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans as Span[]);
const valuesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A pipeline that asks an agent, which answers, and runs a command. */
function write(command: string, model = 'gpt-5'): void {
  writeFileSync(
    join(top, 'p.dot'),
    `digraph g {
      workdir="none"
      start [shape=Mdiamond]
      ask [shape=box, prompt="the secret plan"]
      check [shape=parallelogram, tool_command="${command}"]
      exit [shape=Msquare]
      start -> ask -> check
      check -> exit [condition="outcome=success"]
    }`,
  );
  writeFileSync(
    join(top, 's.json'),
    JSON.stringify({
      format: 'factory-script/1',
      answers: { ask: [{ text: 'a text', usage: { model, input_tokens: 7, output_tokens: 3 } }] },
    }),
  );
}

test('a collector gets a span of the run, of each execution and of each call, and no text', async () => {
  write('echo the output');
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20key-of-the-collector,x-team=a' };
  const ran = await call(
    ['run', 'p.dot'],
    { runId: 'r1', script: 's.json' },
    { cwd: top, env: { ...env(), ...headers, OTEL_SERVICE_NAME: 'night' } },
  );
  expect(ran.code, ran.err).toBe(0);
  const spans = spansIn(received);
  const [root] = spans.filter(({ parentSpanId }) => parentSpanId === undefined);
  expect(root).toMatchObject({ name: 'run p.dot', status: { code: 0 } });
  expect(valuesOf(root as Span)).toMatchObject({
    'factory.run.id': 'r1',
    'factory.run.status': 'completed',
    'factory.run.exit_code': '0',
  });
  const executions = spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId);
  expect(executions.map(({ name }) => name)).toEqual(['start', 'ask', 'check', 'exit']);
  const ask = executions[1] as Span;
  expect(BigInt(ask.endTimeUnixNano) >= BigInt(ask.startTimeUnixNano)).toBe(true);
  const [one, ...more] = spans.filter(({ parentSpanId }) => parentSpanId === ask.spanId);
  expect(more).toEqual([]);
  expect(valuesOf(one as Span)).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.agent.name': 'scripted',
    'gen_ai.usage.input_tokens': '7',
    'gen_ai.usage.output_tokens': '3',
  });
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  for (const { path, headers: sent, body } of received) {
    expect([path, sent.authorization, sent['x-team']]).toEqual([
      '/v1/traces',
      'Bearer key-of-the-collector',
      'a',
    ]);
    expect(body).toContain('{"key":"service.name","value":{"stringValue":"night"}}');
    expect(body).not.toMatch(/secret plan|a text|the output/);
  }
});

test('a failed execution has its class; a run that fails is an error', async () => {
  write('exit 3');
  const ran = await call(['run', 'p.dot'], { runId: 'r1', script: 's.json' }, { cwd: top, env: env() });
  expect(ran.code).toBe(1);
  const spans = spansIn(received);
  const failed = spans.filter(({ status: { code } }) => code === 2).map(({ name }) => name);
  expect(failed).toEqual(['check', 'run p.dot']);
  const check = spans.find(({ name }) => name === 'check') as Span;
  expect(valuesOf(check)['factory.node.failure_class']).toBe('product');
});

test('a resumed run continues its trace: no span is sent twice, and the root comes with the end', async () => {
  write('true');
  const first = await call(
    ['run', 'p.dot'],
    { runId: 'r1', script: 's.json' },
    { cwd: top, env: { ...env(), ATTRACTION_TEST_STOP_AFTER_NODE: 'ask' } },
  );
  const before = spansIn(received);
  expect(first.code).not.toBe(0);
  received = [];
  const second = await call(['resume', 'r1'], {}, { cwd: top, env: env() });
  expect(second.code, second.err).toBe(0);
  const after = spansIn(received);
  expect([...before, ...after].filter(({ name }) => name === 'ask')).toHaveLength(1);
  expect(new Set([...before, ...after].map(({ traceId }) => traceId)).size).toBe(1);
  expect(after.at(-1)?.name).toBe('run p.dot');
});

test('a collector that refuses is reported once, and changes nothing about the run', async () => {
  write('true');
  status = 503;
  const ran = await call(['run', 'p.dot'], { runId: 'r1', script: 's.json' }, { cwd: top, env: env() });
  expect(ran.code).toBe(0);
  expect(ran.err.split('traces could not be sent')).toHaveLength(2);
  expect(ran.err).toContain('answered 503');
  // The last attempt has all that was not taken.
  expect(spansIn(received.slice(-1)).map(({ name }) => name)).toContain('start');
});

test.for([
  ['refuses for good', 400, '{}', 'answered 400'],
  [
    'takes a part',
    200,
    '{"partialSuccess":{"rejectedSpans":"1","errorMessage":"a secret"}}',
    'rejected 1 of the spans',
  ],
] as const)('a collector that %s is reported once, and gets no span again', async ([, code, body, why]) => {
  write('true');
  [status, answer] = [code, body];
  const ran = await call(['run', 'p.dot'], { runId: 'r1', script: 's.json' }, { cwd: top, env: env() });
  expect(ran.code).toBe(0);
  expect(ran.err.split(why)).toHaveLength(2);
  expect(ran.err).not.toContain('a secret');
  const ids = spansIn(received).map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the end of a run is sent once to a collector that never answers: the process waits for it', async () => {
  write('true');
  isSilent = true;
  const ran = await call(
    ['run', 'p.dot'],
    { runId: 'r1', script: 's.json' },
    { cwd: top, env: { ...env(), OTEL_EXPORTER_OTLP_TIMEOUT: '100' } },
  );
  expect(ran.code).toBe(0);
  expect(ran.err.split('traces could not be sent')).toHaveLength(2);
  const ends = spansIn(received).filter(({ parentSpanId }) => parentSpanId === undefined);
  expect(ends.length).toBeLessThanOrEqual(1);
});

test('a provider has the name of the conventions', async () => {
  write('true', 'gemini-2.5-pro');
  await call(['run', 'p.dot'], { runId: 'r1', script: 's.json' }, { cwd: top, env: env() });
  const one = spansIn(received).find(({ name }) => name === 'chat gemini-2.5-pro') as Span;
  expect(valuesOf(one)['gen_ai.provider.name']).toBe('gcp.gemini');
});

test('a model whose name says no provider has that of the server that was asked', async () => {
  await using server = await startModelServer([{ text: 'Hello' }], ['chat', 'responses']);
  mkdirSync(join(top, 'config/factory'), { recursive: true });
  writeFileSync(
    join(top, 'config/factory/factory.json'),
    JSON.stringify({ providers: { mistral: { base_url: server.url } } }),
  );
  write('true');
  const variables = { XDG_CONFIG_HOME: join(top, 'config'), MISTRAL_API_KEY: 'key-of-mistral-0123' };
  const ran = await call(
    ['run', 'p.dot'],
    { runId: 'r1', agent: 'openai', provider: 'mistral', model: 'large' },
    { cwd: top, env: { ...env(), ...variables } },
  );
  expect(ran.code, ran.err).toBe(0);
  const one = spansIn(received).find(({ name }) => name === 'chat large') as Span;
  expect(valuesOf(one)['gen_ai.provider.name']).toBe('mistral_ai');
});

const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
test.for([
  ['nothing is set', {}, undefined],
  ['the general endpoint is a base', base, 'http://collector:4318/v1/traces'],
  [
    'the endpoint of traces is whole',
    { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/x' },
    'https://other/x',
  ],
  [
    'the base has a path and a query',
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector/otlp/?tenant=a/' },
    'https://collector/otlp/v1/traces?tenant=a/',
  ],
  ['it is switched off', { ...base, OTEL_SDK_DISABLED: 'true' }, undefined],
  ['another exporter is chosen', { ...base, OTEL_TRACES_EXPORTER: 'none' }, undefined],
] as const)('spans are sent where the environment says: %s', ([, given, url]) => {
  const target = traceTarget(given);
  expect(target !== undefined && 'url' in target ? target.url : target).toBe(url);
});

test.for([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }, 'no http or https address'],
  [{ ...base, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL is grpc: only http/json'],
  [{ ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'x' }, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is no http'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://ada:sesame@collector' }, 'has a user or a password'],
  [{ ...base, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%0Asesame' }, 'a header cannot have'],
  [{ ...base, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=sesame\u2713' }, 'a header cannot have'],
  [{ ...base, OTEL_EXPORTER_OTLP_HEADERS: 'ses ame=sesame' }, 'a header cannot have'],
] as const)('what cannot be used is said, without a secret in it: %j', ([given, why]) => {
  expect(traceTarget(given)).toEqual({ why: expect.stringContaining(why) });
  expect(JSON.stringify(traceTarget(given))).not.toContain('sesame');
});
