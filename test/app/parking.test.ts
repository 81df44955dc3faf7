/** Suspended runs: until a quota is renewed, or until a user sets a key or pays. */
import { chownSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { completeResult } from '../../src/app/run/complete-run.ts';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { runResultSchema } from '../../src/core/records/result.ts';
import { livingOwners } from '../../src/run/lock.ts';
import { openRun } from '../../src/run/open-run.ts';
import { verifyRun } from '../../src/verify/index.ts';
import { house } from '../support/house.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

/** Waits of a run itself, in milliseconds; all others are watches over calls and locks. */
const ownWaits = [60_000, 90_000, 600_000];

/** A clock that jumps over the run's own waits, and notes them. */
function jumping(): Clock & { readonly waits: number[]; set: (byMs: number) => void } {
  let at = Date.parse('2026-03-01T00:00:00Z');
  let off = 0;
  const waits: number[] = [];
  return {
    waits,
    set: (byMs) => {
      off += byMs;
    },
    now: () => new Date(at + off),
    monotonic: () => at,
    async sleep(ms, signal) {
      if (signal?.aborted === true) return;
      if (!ownWaits.includes(ms))
        return new Promise((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      waits.push(ms);
      at += ms;
    },
  };
}

const plain = 'start -> work -> done';
const dot = (edges = plain, attributes = '') => `digraph t { ${attributes}
  start [shape=Mdiamond]; work [prompt="do it"]; done [shape=Msquare]
  failed [shape=Msquare, outcome=fail]; other [shape=parallelogram, tool_command="true"]
  ${edges}; other -> failed; start -> other [condition="outcome=fail"] }`;

async function asking(graph: string, reactions: readonly Reaction[]) {
  const server = await startModelServer(reactions);
  const clock = jumping();
  const env = { OPENAI_API_KEY: 'sk-parking-0123456789', OPENAI_BASE_URL: server.url };
  const it = await house({ 'p.dot': graph, 'work/x.txt': '' }, () => env, clock);
  return {
    ...it,
    env,
    clock,
    server,
    start: (options: object = {}) => it.run('p.dot', { runId: 'r1', workdir: 'work', ...options }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

const limited = (after: string): Reaction => ({ status: 429, headers: { 'retry-after': after } });
const checkpoint = '.factory/runs/r1/checkpoint.json';

test('a long wait for a quota suspends the run: state, wake time, exit code 75, and the resume command', async () => {
  await using it = await asking(dot(), [limited('3600'), { text: 'ok' }]);
  const parked = await it.start();
  expect(parked.code).toBe(75);
  const wake_at = '2026-03-01T01:00:00.000Z';
  expect(it.json(checkpoint)).toMatchObject({
    status: 'paused_quota',
    next_node: 'work',
    ended: null,
    parked: { status: 'paused_quota', node: 'work', wake_at },
  });
  expect(it.json('.factory/runs/r1/checkpoint.json').parked).toMatchObject({
    status: 'paused_quota',
    wake_at,
  });
  expect(it.json('.factory/runs/r1/result.json')).toMatchObject({
    status: 'paused_quota',
    exit_code: 75,
    wake_at,
  });
  expect(parked.out.trimEnd().split('\n').at(-1)).toMatch(/factory resume r1 --wait$/);
  expect(parked.out).toContain(`suspended until ${wake_at}`);

  const holds = async () =>
    (await verifyRun({ runDir: join(it.path, '.factory/runs/r1'), env: { PATH: process.env['PATH'] } }))
      .problems;
  expect(await holds()).toEqual([]);

  const early = await it.resume('r1');
  expect(early.code).toBe(75);
  expect(await holds()).toEqual([]);
  expect(early.out).toContain(wake_at);
  expect(it.server.requests).toHaveLength(1);

  const listed = await it.runs();
  expect(listed.out).toMatch(/r1 +‖ suspended .*quota until \d\d:00: too many requests/);
  expect(listed.out).toMatch(/next: factory resume r1 --wait/);

  const ended = await it.resume('r1', { wait: true, json: true });
  expect(ended.code, ended.err).toBe(0);
  expect(it.clock.now().toISOString() >= wake_at).toBe(true);
  expect(it.json(checkpoint).parked).toBeUndefined();
  expect(JSON.parse(ended.out).wake_at).toBeUndefined();
  const types = it.records('.factory/runs/r1/events.jsonl').map((one) => one['type']);
  expect(types.filter((type) => type === 'PipelineParked')).toHaveLength(1);
});

test('a clock that is set back makes no wait longer, also where the run was suspended at a later date', async () => {
  const day = 24 * 3_600_000;
  await using it = await asking(dot(), [limited('3600'), limited('3600'), { text: 'ok' }]);
  expect((await it.start()).code).toBe(75);
  const { clock } = it;
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    if (clock.waits.length === 30) clock.set(-1_500_000);
    return sleep(ms, signal);
  };
  const waited = async () => {
    const before = clock.waits.length;
    const { code, err } = await it.resume('r1', { wait: true });
    return { code, err, minutes: clock.waits.length - before };
  };
  clock.set(-day);
  expect(await it.resume('r1')).toMatchObject({ code: 75 });
  expect(it.server.requests).toHaveLength(2);
  expect(await waited()).toMatchObject({ code: 0, minutes: 60 });
});

test.for([
  ['is shown as a living owner', 'free', [process.pid], undefined],
  ['leaves the lock of a killed engine, whose take-over is reported', null, [], expect.anything()],
] as const)('a resume that waits %s', async ([, released, owners, takenOver]) => {
  await using it = await asking(dot(), [limited('3600'), { text: 'ok' }]);
  expect((await it.start()).code).toBe(75);
  const runDir = join(it.path, '.factory/runs/r1');
  const lock = join(runDir, 'lock/000001.json');
  const first = it.json('.factory/runs/r1/lock/000001.json');
  // Another process has parked it, and is gone.
  const given = released === null ? null : first['released'];
  writeFileSync(lock, JSON.stringify({ ...first, pid: 2 ** 22 + 1, released: given }));
  const { clock } = it;
  const sleep = clock.sleep.bind(clock);
  const seen: (readonly number[])[] = [];
  clock.sleep = (ms, signal) => {
    if (ms === 60_000) seen.push(livingOwners(runDir));
    return sleep(ms, signal);
  };
  expect((await it.resume('r1', { wait: true })).code).toBe(0);
  expect(seen[0]).toEqual(owners);
  expect(seen.at(-1)).toEqual(owners);
  const resumed = it.records('.factory/runs/r1/trace.jsonl').find(({ type }) => type === 'ResumeLoaded');
  expect(resumed?.['taken_over_from']).toEqual(takenOver);
});

test('a suspended run whose engine was killed before it wrote the result gets it by the next resume', async () => {
  await using it = await asking(dot(), [limited('3600'), { text: 'ok' }]);
  expect((await it.start()).code).toBe(75);
  const at = (name: string) => join(it.path, '.factory/runs/r1', name);
  const told = it.json('.factory/runs/r1/result.json');
  rmSync(at('result.json'));
  expect((await it.resume('r1')).code).toBe(75);
  const { sha256: _, evidence: __, ...same } = told;
  expect(it.json('.factory/runs/r1/result.json')).toMatchObject(same);
  const { problems } = await verifyRun({ runDir: at(''), env: { PATH: process.env['PATH'] } });
  expect(problems).toEqual([]);
  expect((await it.resume('r1', { now: true })).code).toBe(0);
});

test.skipIf(process.geteuid?.() !== 0)(
  'a suspended run of another user is refused before any wait, and nothing is written there',
  async () => {
    await using it = await asking(dot(), [limited('3600'), { text: 'ok' }]);
    expect((await it.start()).code).toBe(75);
    const runDir = join(it.path, '.factory/runs/r1');
    const there = readdirSync(join(runDir, 'lock'));
    rmSync(join(runDir, 'result.json'));
    chownSync(runDir, 65_534, 65_534);
    for (const flags of [{}, { wait: true }]) {
      const refused = await it.resume('r1', flags);
      expect(refused.err).toContain('run-owner');
      expect(refused.code).toBe(2);
    }
    expect(it.clock.waits).toEqual([]);
    expect(readdirSync(join(runDir, 'lock'))).toEqual(there);
    expect(existsSync(join(runDir, 'result.json'))).toBe(false);
  },
);

test('the result of an earlier suspension at the same node does not count for a later one', async () => {
  await using it = await asking(dot(), [limited('3600'), limited('7200')]);
  expect((await it.start()).code).toBe(75);
  const earlier = readFileSync(join(it.path, '.factory/runs/r1/result.json'));
  expect((await it.resume('r1', { now: true })).code).toBe(75);
  writeFileSync(join(it.path, '.factory/runs/r1/result.json'), earlier);
  expect((await it.resume('r1')).code).toBe(75);
  expect(it.json('.factory/runs/r1/result.json').wake_at).toBe(it.json(checkpoint).parked.wake_at);
  const locks = join(it.path, '.factory/runs/r1/lock'); // A look takes the run from nobody.
  const owners = readdirSync(locks);
  expect((await it.resume('r1')).code).toBe(75);
  expect(readdirSync(locks)).toEqual(owners);
});

test('completing a suspended run does not overwrite what another process has done since', async () => {
  await using it = await asking(dot(), [limited('3600'), { text: 'ok' }]);
  expect((await it.start()).code).toBe(75);
  const runDir = join(it.path, '.factory/runs/r1');
  const result = runResultSchema().parse(it.json('.factory/runs/r1/result.json'));
  const before = await openRun(runDir).stored();
  if ('problems' in before) throw new Error('the run can be read');
  expect((await it.resume('r1', { now: true })).code).toBe(0);
  const files = ['result.json', 'manifest.json', 'checkpoint.json'];
  const read = () => files.map((name) => readFileSync(join(runDir, name), 'utf8'));
  const ended = read();
  const { signal } = new AbortController();
  const watcher = { event() {}, streamed() {}, output() {}, spent() {} };
  const doors = { cwd: it.path, env: {}, clock: it.clock, signal, watcher, log() {} };
  const { manifest, history } = before;
  const end = { manifest, state: history.checkpoint, result };
  expect(await completeResult(openRun(runDir), end, false, doors)).toBe('theirs');
  expect(read()).toEqual(ended);
});

test('with --wait a run resumes after every suspension, also in the first command', async () => {
  await using it = await asking(dot(), [limited('3600'), limited('7200'), { text: 'ok' }]);
  const ran = await it.start({ wait: true });
  expect(ran.code, ran.err).toBe(0);
  expect(it.clock.now().getTime() - Date.parse('2026-03-01T00:00:00Z')).toBe(3 * 3_600_000);
  expect(
    it.records('.factory/runs/r1/events.jsonl').filter((one) => one['type'] === 'PipelineParked'),
  ).toHaveLength(2);
});

const asks = dot().replace('"do it"', '"@w.md"');

test.each(['the first command', 'a resume'])(
  '%s does not read prompts and prices again after a wait',
  async (who) => {
    await using it = await asking(asks, [limited('3600'), limited('3600'), { text: 'ok' }]);
    const prices = join(it.path, 'prices.json');
    writeFileSync(join(it.path, 'w.md'), 'do it');
    writeFileSync(prices, '{"format":"factory-prices/1","dated":"2026-01-31","models":{}}');
    const change = (line: string) => {
      if (!line.includes('waiting for the quota')) return false;
      writeFileSync(join(it.path, 'w.md'), 'do something else');
      rmSync(prices, { force: true });
      return false;
    };
    const start = { runId: 'r1', workdir: 'work' };
    const resumes = who === 'a resume' && (await it.run('p.dot', start)).code === 75;
    const ran = resumes
      ? await it.resume('r1', { wait: true }, change)
      : await it.run('p.dot', { ...start, wait: true, prices: 'prices.json' }, change);
    expect(ran.code, ran.err).toBe(0);
    expect(JSON.stringify(it.server.requests.at(-1))).not.toContain('something else');
  },
);

test('a resume that would be refused is refused before it waits', async () => {
  await using it = await asking(asks, [limited('3600'), { text: 'ok' }]);
  writeFileSync(join(it.path, 'w.md'), 'do it');
  expect((await it.start()).code).toBe(75);
  writeFileSync(join(it.path, 'w.md'), 'do something else');
  const refused = await it.resume('r1', { wait: true });
  expect([refused.code, it.clock.waits]).toEqual([2, []]);
  const ended = await it.resume('r1', { wait: true, acceptChanges: true });
  expect(ended.code, ended.err).toBe(0);
  expect(JSON.stringify(it.server.requests.at(-1))).toContain('something else');
});

test('after waits in vain the server is asked less and less often, until a node has ended', async () => {
  const reactions = [...Array.from({ length: 4 }, () => limited('120')), { text: 'ok' }, limited('120')];
  await using it = await asking(dot('start -> work -> more -> done; more [prompt=more]', 'park_after="1m"'), [
    ...reactions,
    { text: 'ok' },
  ]);
  const ran = await it.start({ wait: true });
  expect(ran.code, ran.err).toBe(0);
  const parks = it.records('.factory/runs/r1/events.jsonl').filter((one) => one['type'] === 'PipelineParked');
  const minutes = parks.map(
    ({ at, wake_at }) => (Date.parse(String(wake_at)) - Date.parse(String(at))) / 60_000,
  );
  expect(minutes).toEqual([2, 2, 2, 4, 2]);
});

test('a rate limit without a time is tried again, then waited for a minute, then longer; no fix loop starts for it', async () => {
  const busy: Reaction = {
    status: 429,
    body: { error: { message: 'slow down' } },
    headers: { 'x-should-retry': 'false' },
  };
  await using it = await asking(dot(fails('outcome=fail'), 'default_max_retries=0'), [
    ...Array.from({ length: 3 }, () => busy),
    { text: 'ok' },
  ]);
  const ran = await it.start({ wait: true });
  expect(ran.code, ran.err).toBe(0);
  const parks = it.records('.factory/runs/r1/events.jsonl').filter((one) => one['type'] === 'PipelineParked');
  expect(
    parks.map(({ at, wake_at }) => (Date.parse(String(wake_at)) - Date.parse(String(at))) / 60_000),
  ).toEqual([1, 2, 4]);
});

test.for([
  ['99999999999999', {}, 365 * 86_400_000],
  ['soon', { 'x-ratelimit-reset-requests': '2h' }, 7_200_000],
] as const)('a server that says "%s" suspends the run', async ([after, more, ms]) => {
  await using it = await asking(dot(), [{ status: 429, headers: { 'retry-after': after, ...more } }]);
  expect((await it.start()).code).toBe(75);
  expect(Date.parse(it.json(checkpoint).parked.wake_at)).toBe(Date.parse('2026-03-01T00:00:00Z') + ms);
});

test('with --now a suspended run is tried before its time, once', async () => {
  await using it = await asking(dot(), [limited('3600'), limited('120'), { text: 'ok' }]);
  expect((await it.start()).code).toBe(75);
  expect((await it.resume('r1', { now: true, wait: true, parkAfter: '1s' })).code).toBe(0);
  expect(it.clock.waits).toEqual([60_000, 60_000]);
});

test('a signal ends a wait: the run stays suspended', async () => {
  await using it = await asking(dot(), [limited('3600')]);
  expect((await it.start()).code).toBe(75);
  const stopped = await it.resume('r1', { wait: true }, (line) => line.includes('waiting for the quota'));
  expect(stopped.code).toBe(130);
  expect(stopped.out.trimEnd()).toMatch(/factory resume r1 --wait$/);
  expect(it.json(checkpoint).status).toBe('paused_quota');
});

test.for([
  ['90', '', 0, [90_000]],
  ['90', 'park_after="1m"', 75, []],
  ['600', 'park_after="20m"', 0, [600_000]],
] as const)('the server asks for %s s, %s: exit code %i', async ([after, attributes, code, waits]) => {
  await using it = await asking(dot(plain, attributes), [limited(after), { text: 'ok' }]);
  const ran = await it.start();
  expect(ran.code, ran.err).toBe(code);
  expect(it.clock.waits).toEqual(waits);
});

test('a short wait that never helps ends in a suspension', async () => {
  await using it = await asking(
    dot(),
    Array.from({ length: 3 }, () => limited('90')),
  );
  expect((await it.start()).code).toBe(75);
  expect(it.server.requests).toHaveLength(3);
});

test.for<[name: string, reaction: Reaction, status: string, mend: RegExp]>([
  [
    'a key that is refused',
    { status: 401, body: { error: { message: 'no' } } },
    'paused_auth',
    /OPENAI_API_KEY/,
  ],
  [
    'a key that may not',
    { status: 403, body: { error: { message: 'no' } } },
    'paused_auth',
    /OPENAI_API_KEY/,
  ],
  ['a bill to pay', { status: 402, body: { error: { message: 'pay' } } }, 'paused_billing', /billing/],
  [
    'an empty purse',
    { status: 429, body: { error: { message: 'empty', code: 'insufficient_quota' } } },
    'paused_billing',
    /billing/,
  ],
])(
  '%s suspends without a wake time, names the fix, and a resume starts at once',
  async ([, reaction, status, mend]) => {
    await using it = await asking(dot(), [reaction, { text: 'ok' }]);
    const parked = await it.start();
    expect(parked.code).toBe(75);
    expect(it.server.requests).toHaveLength(1);
    expect(it.json(checkpoint)).toMatchObject({ status, parked: { wake_at: null } });
    expect(parked.out).toMatch(mend);
    expect(parked.out.trimEnd()).toMatch(/factory resume r1$/);
    expect((await it.resume('r1')).code).toBe(0);
    expect(it.clock.waits).toEqual([]);
  },
);

test('a resume without a key reports that the run needs one, not a flag', async () => {
  await using it = await asking(dot(), [{ status: 401 }]);
  expect((await it.start()).code).toBe(75);
  it.env.OPENAI_API_KEY = '';
  const refused = await it.resume('r1');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain('the run asks for the agent "openai": there is no key');
});

const fails = (condition: string) => `${plain}; work -> failed [condition="${condition}"]`;
test.for<[condition: string, reaction: Reaction, code: number]>([
  ['failure_class=infra', limited('3600'), 3],
  ['outcome=fail && failure_class!=product', limited('3600'), 3],
  ['outcome=fail', limited('3600'), 75],
  ['failure_class=product', limited('3600'), 75],
  ['outcome=fail', { status: 401 }, 3],
  ['failure_class=product', { status: 401 }, 75],
])('an edge with %s: exit code', async ([condition, reaction, code]) => {
  await using it = await asking(dot(fails(condition)), [reaction]);
  expect((await it.start()).code).toBe(code);
});

test.for([
  [
    {
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-tokens': '1h',
    },
    3_600_000,
  ],
  [
    {
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-tokens': '2h',
      'x-ratelimit-remaining-tokens': '5000',
    },
    360_000,
  ],
] as const)('the limits that are used up say when: %j', async ([headers, ms]) => {
  await using it = await asking(dot(), [{ status: 429, headers }]);
  expect((await it.start()).code).toBe(75);
  expect(Date.parse(it.json(checkpoint).parked.wake_at)).toBe(Date.parse('2026-03-01T00:00:00Z') + ms);
});

test('suspended runs are listed above newer ones', async () => {
  await using it = await asking(dot(), [limited('3600'), { text: 'ok' }]);
  await it.start();
  it.clock.sleep(60_000);
  // Of the account whose quota is used up it would wait as well.
  const run = await it.run('p.dot', { runId: 'r2', workdir: 'work', model: 'other' });
  expect(run.code, run.err).toBe(0);
  const listed = JSON.parse((await it.runs({ json: true })).out).runs;
  expect(listed.map((one: { run_id: string }) => one.run_id)).toEqual(['r1', 'r2']);
  expect(listed[0]).toMatchObject({
    status: 'paused_quota',
    wake_at: '2026-03-01T01:00:00.000Z',
    needs_attention: true,
  });
});

test('a run that continued at max_windows resets in vain needs a person, and a higher limit continues it', async () => {
  await using it = await asking(dot(), [...Array.from({ length: 3 }, () => limited('3600')), { text: 'ok' }]);
  const ran = await it.start({ wait: true, maxWindows: '2' });
  expect([ran.code, it.server.requests.length]).toEqual([75, 3]);
  expect(it.json(checkpoint).parked).toMatchObject({ status: 'paused_quota', wake_at: null, windows: 2 });
  const reason = 'max_windows: the run was resumed at 2 resets of the quota and finished no node';
  expect(ran.out).toContain(reason);
  expect(ran.out.trimEnd().split('\n').at(-1)).toMatch(/factory resume r1 --max-windows 4$/);
  const listed = JSON.parse((await it.runs({ json: true })).out).runs;
  expect(listed[0]).toMatchObject({
    needs_attention: true,
    wake_at: null,
    next: expect.stringContaining('4'),
  });
  for (const flags of [{}, { wait: true }, { maxWindows: '2' }])
    expect(await it.resume('r1', flags)).toMatchObject({ code: 75 });
  expect(it.server.requests).toHaveLength(3);
  // The hold of the account lasts: it waits for that, as it would have.
  const early = await it.resume('r1', { maxWindows: '4' });
  expect([early.code, it.json(checkpoint).parked.windows, it.server.requests.length]).toEqual([75, 2, 3]);
  const ended = await it.resume('r1', { wait: true });
  expect(ended.code, ended.err).toBe(0);
  const runDir = join(it.path, '.factory/runs/r1');
  expect((await verifyRun({ runDir, env: { PATH: process.env['PATH'] } })).problems).toEqual([]);
});
