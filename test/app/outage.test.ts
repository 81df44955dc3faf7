/** A provider that is down: waited for within the run, then suspended, with `--wait` until it is back. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { house } from '../support/house.ts';

const minute = 60_000;
const begin = Date.parse('2026-03-01T00:00:00Z');

/** A clock that jumps over waits of up to 64 seconds, as those of a run are; longer ones watch over calls. `passed` is called
 *  after each jump. Like that of a computer that sleeps, each jump may be `times` as long. */
function jumping(
  passed: () => Promise<void> = async () => {},
  times = 1,
): Clock & { now(): Date; readonly waits: number[] } {
  let at = begin;
  const waits: number[] = [];
  return {
    waits,
    now: () => new Date(at),
    monotonic: () => at,
    async sleep(ms, signal) {
      if (signal?.aborted === true) return;
      if (ms > 64_000)
        return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      waits.push(ms);
      at += ms * times;
      await passed();
    },
  };
}

type Provider = { readonly status: number; readonly body?: string } | 'up' | 'refused' | 'reset';

/** A run of two model calls at a provider that is as `state` says at each virtual minute since the first answer. */
async function night(state: (minutes: number) => Provider, attributes = '', edges = '', times = 1) {
  const prompts: string[] = [];
  const asked: number[] = [];
  let answered = 0;
  const minutes = () => (clock.now().getTime() - begin) / minute;
  const now = (): Provider => (answered === 0 ? 'up' : state(minutes()));
  const server: Server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      const is = now();
      asked.push(minutes());
      if (is === 'refused' || is === 'reset') return void request.socket.destroy();
      if (is !== 'up') {
        const type = is.body === undefined ? 'application/json' : 'text/html';
        response.writeHead(is.status, { 'content-type': type, connection: 'close' });
        return void response.end(is.body ?? '{"error":{"message":"not now"}}');
      }
      prompts.push(JSON.parse(text).input);
      answered += 1;
      const output = [{ type: 'message', content: [{ type: 'output_text', text: 'ok' }] }];
      response.writeHead(200, { 'content-type': 'application/json', connection: 'close' });
      const usage = { input_tokens: 5, output_tokens: 5 };
      response.end(JSON.stringify({ id: 'r', status: 'completed', output, usage }));
      response.on('close', () => void reachable());
    });
  });
  const listen = (port: number) => new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  await listen(0);
  const { port } = server.address() as AddressInfo; // listening on a port, so it is no pipe's name
  /** Listens, unless the provider refuses connections. */
  const reachable = async (): Promise<void> => {
    const should = now() !== 'refused';
    if (should && !server.listening) await listen(port);
    if (!should && server.listening) await new Promise((done) => server.close(done));
  };
  const clock = jumping(reachable, times);
  const dot = `digraph t { ${attributes}
    start [shape=Mdiamond]; first [prompt="one"]; work [prompt="two", max_retries=0]; done [shape=Msquare]
    lost [shape=Msquare, outcome=fail]
    start -> first -> work -> done; work -> lost [condition="outcome=fail"] ${edges} }`;
  const env = { OPENAI_API_KEY: 'sk-outage-0123456789', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` };
  const it = await house({ 'p.dot': dot, 'work/x.txt': '' }, () => env, clock);
  return {
    ...it,
    clock,
    prompts,
    asked,
    minutes,
    start: (options: object = {}, stop?: (line: string) => boolean) =>
      it.run('p.dot', { runId: 'r1', workdir: 'work', ...options }, stop),
    events: (type: string) =>
      it.records('.factory/runs/r1/events.jsonl').filter((one) => one['type'] === type),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

const checkpoint = '.factory/runs/r1/checkpoint.json';

/** Refuses connections, then answers 503, and is back after ten minutes. */
const tenMinutes = (minutes: number): Provider =>
  minutes < 3 ? 'refused' : minutes < 10 ? { status: 503 } : 'up';

test.for<[string, Provider]>([
  ['refuses connections', 'refused'],
  ['resets connections', 'reset'],
  ['answers 503', { status: 503 }],
  ['answers 529', { status: 529 }],
  ['is behind a gateway with a page', { status: 200, body: '<title>Down for maintenance</title>' }],
])('nine seconds in which the provider %s are waited for within the run', async ([, how]) => {
  await using it = await night((minutes) => (minutes < 9 / 60 ? how : 'up'));
  const ran = await it.start();
  expect(ran.code, ran.err).toBe(0);
  expect(it.prompts).toEqual(['one', 'two']);
  expect(it.events('PipelineParked')).toEqual([]);
  expect(it.events('StageRetrying').length).toBeGreaterThan(2);
});

test('under a cost limit a provider that hangs up does not end the run: what was sent to it counts', async () => {
  await using it = await night((minutes) => (minutes < 9 / 60 ? 'reset' : 'up'));
  const ran = await it.start({ maxCostUsd: '5', model: 'gpt-5.2', unknownCost: 'stop' });
  expect(ran.out + ran.err).not.toContain('cannot be held: the cost of');
  const ended = it.records('.factory/runs/r1/journal.jsonl').filter(({ type }) => type === 'CallEnded');
  expect(ended.map((one) => one['ended'])).toContain('cut');
  expect(ran.code, ran.err).toBe(0);
});

test('after park_after the run is suspended, says why, and a resume continues without a call that is paid twice', async () => {
  await using it = await night(tenMinutes);
  const parked = await it.start();
  expect(parked.code, parked.err).toBe(75);
  expect(it.minutes()).toBeGreaterThan(1.4);
  expect(it.minutes()).toBeLessThanOrEqual(2);
  expect(it.json(checkpoint)).toMatchObject({ status: 'paused_outage', next_node: 'work' });
  expect(it.json('.factory/runs/r1/result.json').reason).toMatch(
    /^work: the provider is down: .*cannot be reached/,
  );
  expect(parked.out.trimEnd()).toMatch(/factory resume r1 --wait$/);
  const delays = it.events('StageRetrying').map((one) => Number(one['delay_ms']));
  expect(delays.every((ms, n) => n === 0 || ms > (delays[n - 1] ?? 0))).toBe(true);
  expect((await it.runs()).out).toMatch(/r1 +‖ suspended .* provider down/);

  const early = await it.resume('r1');
  expect(early.code).toBe(75);
  await it.clock.sleep(minute);
  while (it.minutes() < 10) await it.clock.sleep(minute);
  const ended = await it.resume('r1');
  expect(ended.code, ended.err).toBe(0);
  expect(it.prompts).toEqual(['one', 'two']);
});

test('with --wait the run continues by itself, asking less and less often', async () => {
  await using it = await night(tenMinutes);
  const ran = await it.start({ wait: true });
  expect(ran.code, ran.err).toBe(0);
  expect(it.prompts).toEqual(['one', 'two']);
  expect(it.minutes()).toBeLessThan(16);
  const waits = it
    .events('PipelineParked')
    .map(({ at, wake_at }) => (Date.parse(String(wake_at)) - Date.parse(String(at))) / minute);
  for (const [n, wait] of waits.entries()) {
    expect(wait).toBeLessThanOrEqual(Math.min(2 ** n, 5));
    expect(wait).toBeGreaterThanOrEqual(Math.min(2 ** n, 5) * 0.75);
  }
});

test.for([
  ['the default', {}, '', 480, 12],
  ['the flag', { maxOutage: '20m' }, '', 20, 1],
  ['the graph', {}, 'max_outage="30m"', 30, 1],
] as const)(
  'with --wait an outage is waited for as long as %s says, then the run stays suspended',
  async ([, flag, graph, most, times]) => {
    await using it = await night(() => ({ status: 502 }), graph, '', times);
    const ran = await it.start({ wait: true, ...flag });
    expect(ran.code).toBe(75);
    expect(ran.err).toContain('max_outage');
    expect(it.minutes()).toBeGreaterThan(most - 5 * times);
    expect(it.minutes()).toBeLessThanOrEqual(most + 3 * times);
    // A later command waits anew.
    const before = it.minutes();
    expect((await it.resume('r1', { wait: true, maxOutage: '10m' })).code).toBe(75);
    expect(it.minutes()).toBeGreaterThan(before + 4);
  },
);

test.for<[string, string, number]>([
  ['names the class', 'failure_class=infra', 3],
  ['names it among others', 'outcome=fail && failure_class!=product', 3],
  ['asks for a failure of the product', 'failure_class=product', 75],
])('an edge that %s: exit code', async ([, condition, code]) => {
  const edge = `other [shape=Msquare, outcome=fail]; work -> other [condition="${condition}", weight=5]`;
  await using it = await night(() => ({ status: 504 }), '', edge);
  expect((await it.start()).code).toBe(code);
});

test('park_after=0s suspends after a few quick tries', async () => {
  await using it = await night(() => ({ status: 503 }));
  expect((await it.start({ parkAfter: '0s' })).code).toBe(75);
  expect(it.minutes()).toBeLessThan(0.1);
  expect(it.events('StageRetrying')).toEqual([]);
});

test.for<[string, number, number]>([
  ['a request that is not understood', 400, 3],
  ['a refused key', 401, 3],
  ['an unknown model', 404, 3],
])('%s is no outage, and is asked for once', async ([, status, code]) => {
  await using it = await night(() => ({ status }));
  expect((await it.start({ wait: true })).code).toBe(code);
  expect(it.asked).toHaveLength(2);
  expect(it.clock.waits).toEqual([]);
});

test.for<[string, object, RegExp, string]>([
  ['within the run', {}, /retry/i, 'interrupted'],
  ['of a suspended run', { wait: true }, /waiting for the provider/, 'paused_outage'],
])('a signal ends the wait %s at once', async ([, options, line, status]) => {
  await using it = await night(() => ({ status: 503 }));
  const stopped = await it.start({ ...options, logLevel: 'debug' }, (text) => line.test(text));
  expect(stopped.code, stopped.err).toBe(130);
  expect(it.json(checkpoint).status).toBe(status);
});
