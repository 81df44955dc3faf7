/** Holds of accounts, as the engines of several runs meet them. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fallbackAgent } from '../../src/agents/fallback.ts';
import type { Agent, AgentReport, AgentTask } from '../../src/core/contracts/agent.ts';
import type { Clock } from '../../src/core/contracts/clock.ts';
import { openBudgetGuard } from '../../src/engine/budget-guard.ts';
import { openCostLedger } from '../../src/engine/cost-ledger.ts';
import { type HoldGateSetting, holdGate } from '../../src/engine/holds.ts';
import { holdsFolderOf, holdsOf, openHolds, removeHold } from '../../src/fleet/holds.ts';
import { removeTree } from '../../src/platform/files/remove.ts';
import type { Self } from '../../src/platform/process/table.ts';
import { thisProcess } from '../../src/platform/process/table.ts';
import { acquireLock } from '../../src/run/lock.ts';
import { taskFor } from '../agents/contract.ts';
import { defaultCaps } from '../support/caps.ts';

const start = Date.parse('2026-03-01T00:00:00.000Z');
const hour = 3_600_000;

/** A clock whose time passes only by waits; each is noted, and `during` is called in it. */
function waiting() {
  let at = start;
  const waits: number[] = [];
  const clock: Clock & { waits: number[]; during: (n: number) => unknown; pass(ms: number): void } = {
    waits,
    during: () => {},
    pass: (ms) => {
      at += ms;
    },
    now: () => new Date(at),
    monotonic: () => at,
    async sleep(ms) {
      waits.push(ms);
      at += ms;
      if (waits.length > 1000) throw new Error('it waits for ever');
      await clock.during(waits.length);
    },
  };
  return clock;
}

const limited = (resetMs: number): AgentReport => ({
  ...{ kind: 'failed', class: 'infra', reason: 'too many requests', model: 'api', unbilled: true },
  ...{ retryAfterMs: 1, park: { kind: 'quota', wakeAtMs: resetMs } },
});
const answered: AgentReport = { kind: 'answered', text: 'ok' };
type Work = (task: AgentTask) => AgentReport | Promise<AgentReport>;

const account = { endpoint: 'https://api.test/v1', model: 'm', holder: 'a-hash' };
const agentOf = (work: Work, more: Partial<Agent> = {}): Agent => ({
  ...{ name: 'openai', describe: 'openai', accountFor: () => account },
  ...{ work: async (task: AgentTask) => work(task) },
  ...more,
});

/** Runs of one runs directory. */
function folder() {
  const runsDir = mkdtempSync(join(tmpdir(), 'factory-holds-'));
  onTestFinished(() => removeTree(runsDir));
  const clock = waiting();
  const lines: string[] = [];
  return {
    runsDir,
    clock,
    lines,
    names: () =>
      existsSync(join(runsDir, 'holds')) ? readdirSync(join(runsDir, 'holds')).sort() : undefined,
    /** The engine of a run: its lock, and what it does before a call. */
    async engine(runId: string, more: Partial<HoldGateSetting> = {}, self: Self = thisProcess()) {
      const runDir = join(runsDir, runId);
      mkdirSync(runDir, { recursive: true });
      const answer = await acquireLock(runDir, { clock, self, every: () => () => {} });
      if (answer.kind === 'refused') throw new Error(answer.why);
      const log = (_: string, message: string) => lines.push(message);
      const holds = openHolds({ runsDir, runDir, epoch: answer.lock.epoch, clock, log });
      const setting = { holds, clock, park_after: 120_000, early: false, waitedUntil: undefined };
      const desk = openBudgetGuard({
        costs: openCostLedger([], { dated: '', from: '', models: new Map() }, async () => {}),
        caps: { ...defaultCaps, unknown_cost: 'allow' },
        ...{ nodeCaps: {}, kept: { usd: 0, tokens: 0, ms: 0 }, wallLeft: () => Number.POSITIVE_INFINITY },
        ...{ node: 'a', visit: 1, clock },
        gates: [holdGate({ ...setting, mask: (text) => text.replace('requests', '***'), ...more })],
      });
      let calls = 0;
      return {
        calls: () => calls,
        end: () => answer.lock.release(),
        ask(work: Work, task: Partial<AgentTask> = {}, its: Partial<Agent> = {}) {
          const counted: Work = (given) => {
            calls += 1;
            return work(given);
          };
          return desk
            .paying(agentOf(counted, its), 1)
            .work({ ...taskFor(), ...task }, new AbortController().signal);
        },
        desk,
      };
    },
  };
}

const held = (resetMs: number) => ({
  ...{ kind: 'failed', class: 'infra', model: 'api', reason: 'too many ***', unbilled: true },
  park: { kind: 'quota', wakeAtMs: resetMs, held: true },
});

test('a run that meets a limit with a reset tells the others, which make no call until then', async () => {
  const it = folder();
  const a = await it.engine('a');
  const b = await it.engine('b');
  expect(await a.ask(() => limited(start + hour))).toMatchObject({ reason: 'too many requests' });
  const [hold] = holdsOf(it.runsDir);
  expect(hold).toMatchObject({
    ...{ agent: 'openai', endpoint: account.endpoint, model: 'm', by: 'a', reason: 'too many ***' },
    ...{ since: '2026-03-01T00:00:00.000Z', until: '2026-03-01T01:00:00.000Z' },
  });
  expect(await b.ask(() => answered)).toEqual(held(start + hour));
  expect(b.calls()).toBe(0);
  // Another model or key of the same provider is another account.
  const other = { accountFor: () => ({ ...account, holder: 'another' }) };
  expect(await b.ask(() => answered, {}, other)).toEqual(answered);
  expect(it.clock.waits).toEqual([]);
});

test('the file of a hold has a name and fields from which no key can be read', async () => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + hour));
  const [name = ''] = it.names() ?? [];
  const path = join(it.runsDir, 'holds', name);
  expect(name).toMatch(/^[0-9a-f]{16}\.json$/);
  expect(readFileSync(path, 'utf8')).not.toContain(account.holder);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test.for<[string, AgentReport, Partial<Agent>]>([
  ['a call that succeeds', answered, {}],
  ['a limit without a time', { ...limited(0), park: { kind: 'quota', unsaid: true } } as AgentReport, {}],
  ['an unpaid bill', { ...limited(0), park: { kind: 'billing' } } as AgentReport, {}],
  ['a provider that is down', { ...limited(0), park: { kind: 'outage' } } as AgentReport, {}],
  ['a reset that has been', limited(start), {}],
  ['an agent without an account', limited(start + hour), { accountFor: () => undefined }],
  ['an agent that calls no model', limited(start + hour), { free: true }],
])('%s leaves nothing behind', async ([, report, more]) => {
  const it = folder();
  const a = await it.engine('a');
  await a.ask(() => report, {}, more);
  expect(a.calls()).toBe(1);
  expect(it.names()).toBeUndefined();
});

test('at the reset one call goes first; the others wait for its result, and go when it has succeeded', async () => {
  const it = folder();
  const engines = await Promise.all(['a', 'b', 'c', 'd'].map((id) => it.engine(id)));
  const [a, ...others] = engines;
  await a?.ask(() => limited(start + 1000));
  it.clock.pass(1000);
  let succeed = (_: AgentReport): void => {};
  const first = a?.ask(() => new Promise<AgentReport>((resolve) => (succeed = resolve)));
  await expect.poll(() => a?.calls()).toBe(2);
  expect(it.names()).toHaveLength(2);
  it.clock.during = (n) => n === 30 && succeed(answered);
  const rest = others.map((one) => one.ask(() => answered));
  it.clock.during = (n) => {
    if (n < 30) expect(others.map(({ calls }) => calls())).toEqual([0, 0, 0]);
    if (n === 30) succeed(answered);
  };
  expect(await Promise.all([first, ...rest])).toEqual([answered, answered, answered, answered]);
  expect(others.map(({ calls }) => calls())).toEqual([1, 1, 1]);
  expect(it.names()).toEqual([]);
});

test('a limit that the first call meets again moves the hold, and no other call is made', async () => {
  const it = folder();
  const a = await it.engine('a');
  const b = await it.engine('b');
  await a.ask(() => limited(start + 1000));
  it.clock.pass(1000);
  let refuse = (_: AgentReport): void => {};
  const first = a.ask(() => new Promise<AgentReport>((resolve) => (refuse = resolve)));
  await expect.poll(() => a.calls()).toBe(2);
  it.clock.during = (n) => n === 3 && refuse(limited(start + hour));
  expect(await b.ask(() => answered)).toEqual(held(start + hour));
  await first;
  expect(b.calls()).toBe(0);
  expect(holdsOf(it.runsDir)).toMatchObject([{ since: '2026-03-01T00:00:00.000Z', by: 'a' }]);
  expect(it.names()).toHaveLength(1);
});

test.for([
  ['has ended', 'same', 1],
  ['is on a host that is silent', 'other', 121],
] as const)('a first call whose engine %s is followed by another one', async ([, host, looks]) => {
  const it = folder();
  const self = { ...thisProcess(), ...(host === 'other' ? { host: 'elsewhere' } : {}) };
  const a = await it.engine('a', {}, self);
  const b = await it.engine('b');
  await a.ask(() => limited(start + 1000));
  it.clock.pass(1000);
  void a.ask(() => new Promise<AgentReport>(() => {}));
  await expect.poll(() => a.calls()).toBe(2);
  it.clock.during = (n) => host === 'same' && n === 1 && a.end();
  expect(await b.ask(() => answered)).toEqual(answered);
  expect(it.clock.waits.length).toBeLessThanOrEqual(looks);
  expect(it.names()).toEqual([]);
});

test.for<[string, (names: readonly string[], it: ReturnType<typeof folder>) => unknown, AgentReport]>([
  ['before the provider has answered', () => {}, answered],
  [
    'after it had removed the hold, and before its own file',
    ([hold = ''], it) => rmSync(join(it.runsDir, 'holds', hold)),
    answered,
  ],
  [
    'after it had moved the hold, and before its own file',
    ([hold = ''], it) => {
      const path = join(it.runsDir, 'holds', hold);
      const moved = JSON.stringify(new Date(start + hour));
      writeFileSync(path, readFileSync(path, 'utf8').replace(/"until": "[^"]*"/, `"until": ${moved}`));
    },
    held(start + hour) as AgentReport,
  ],
])(
  'an engine that was killed in the first call, %s, leaves nothing that holds others back',
  async ([, killed, report]) => {
    const it = folder();
    const a = await it.engine('a');
    await a.ask(() => limited(start + 1000));
    it.clock.pass(1000);
    void a.ask(() => new Promise<AgentReport>(() => {}));
    await expect.poll(() => a.calls()).toBe(2);
    killed(
      (it.names() ?? []).filter((name) => name.endsWith('.json')),
      it,
    );
    await a.end();
    // The same run, continued by another engine, and another one.
    for (const id of ['a', 'b']) expect(await (await it.engine(id)).ask(() => answered)).toEqual(report);
    expect(it.clock.waits).toEqual([]);
    expect(holdsOf(it.runsDir)).toHaveLength(report.kind === 'failed' ? 1 : 0);
  },
);

test('a first call that is neither refused nor answered keeps the others for two minutes', async () => {
  const it = folder();
  const a = await it.engine('a');
  const b = await it.engine('b');
  await a.ask(() => limited(start + 1000));
  it.clock.pass(1000);
  void a.ask(() => new Promise<AgentReport>(() => {}));
  await expect.poll(() => a.calls()).toBe(2);
  expect(await b.ask(() => answered)).toEqual(answered);
  expect(it.clock.now().getTime() - start - 1000).toBe(120_000);
});

test.for<[string, Partial<Agent>, (task: AgentTask) => void, boolean]>([
  ['text of a model', {}, (task) => task.onText?.('Hi', 'answer'), true],
  ['text of a program', { unseen: true }, (task) => task.onText?.('limit reached', 'answer'), false],
  [
    'an action of a program',
    { unseen: true },
    (task) => task.acted({ action: 'command', detail: 'ls', status: '' }),
    true,
  ],
  [
    'its usage',
    { unseen: true },
    (task) => task.used?.({ model: 'm', input_tokens: 1, output_tokens: 1, cost_usd: null }),
    true,
  ],
  [
    'usage without an answer',
    {},
    (task) => task.used?.({ model: 'm', input_tokens: 1, output_tokens: 0, cost_usd: null }),
    false,
  ],
])('of the first call, %s ends the hold before the session is over: %o', async ([, more, sign, ends]) => {
  const it = folder();
  const a = await it.engine('a');
  await a.ask(() => limited(start + 1000), {}, more);
  it.clock.pass(1000);
  let left: number | undefined;
  const session: Work = (task) => {
    sign(task);
    left = holdsOf(it.runsDir).length;
    return answered;
  };
  await a.ask(session, {}, more);
  expect([left, holdsOf(it.runsDir)]).toEqual([ends ? 0 : 1, []]);
});

test('an agent that waits for the reset itself keeps the others from calling, and its own request goes first', async () => {
  const it = folder();
  const a = await it.engine('a');
  const b = await it.engine('b');
  const session: Work = async (task) => {
    task.waits?.({
      attempt: 2,
      cause: 'rate_limit',
      reason: 'too many requests',
      delayMs: 1000,
      resetMs: start + 1000,
    });
    await expect.poll(() => it.names()?.length).toBe(2);
    expect(await b.ask(() => answered)).toEqual(held(start + 1000));
    it.clock.pass(1000);
    it.clock.during = (n) => n === 2 && task.onText?.('Hi', 'answer');
    expect(await b.ask(() => answered)).toEqual(answered);
    return answered;
  };
  expect(await a.ask(session)).toEqual(answered);
  expect([it.clock.waits, it.names()]).toEqual([[500, 500], []]);
});

test.for([
  [60_000, [60_000], undefined],
  [
    hour,
    [],
    { class: 'infra', empty: 'too many ***', model: 'api', park: { kind: 'quota', wakeAtMs: start + hour } },
  ],
] as const)(
  'a session waits for a hold of %i ms before its next call, or ends',
  async ([ms, waits, refused]) => {
    const it = folder();
    const a = await it.engine('a');
    const b = await it.engine('b');
    const session: Work = async (task) => {
      await b.ask(() => limited(start + ms));
      const told = await task.budget?.(undefined, 1);
      if (told !== undefined && 'empty' in told) {
        const { empty, ...more } = told;
        expect(told).toMatchObject(refused ?? {});
        return { kind: 'failed', class: 'infra', ...more, reason: empty };
      }
      return answered;
    };
    expect((await a.ask(session)).kind).toBe(refused === undefined ? 'answered' : 'failed');
    expect(it.clock.waits).toEqual(waits);
  },
);

test('a person who resumes a run before its time tries at once, and the newest word of the provider counts', async () => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + hour));
  const b = await it.engine('b', { early: true });
  expect(await b.ask(() => limited(start + 60_000))).toMatchObject({ park: { wakeAtMs: start + 60_000 } });
  expect(holdsOf(it.runsDir)).toMatchObject([{ until: '2026-03-01T00:01:00.000Z' }]);
  expect(await b.ask(() => answered)).toEqual(held(start + 60_000));
  const c = await it.engine('c', { early: true });
  expect(await c.ask(() => answered)).toEqual(answered);
  expect(it.names()).toEqual([]);
});

test('of two limits that calls under way meet, the later reset counts', async () => {
  const it = folder();
  const a = await it.engine('a');
  const b = await it.engine('b');
  const session: Work = async () => {
    await b.ask(() => limited(start + hour));
    return limited(start + 1000);
  };
  await a.ask(session);
  expect(holdsOf(it.runsDir)).toMatchObject([{ until: '2026-03-01T01:00:00.000Z', by: 'b' }]);
});

test('a year is the longest that a reset is believed', async () => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + 1e15));
  expect(holdsOf(it.runsDir)).toMatchObject([{ until: '2027-03-01T00:00:00.000Z' }]);
});

test('a clock that was set back while the run waited for the reset makes its wait no longer', async () => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + hour));
  const b = await it.engine('b', { waitedUntil: start + hour });
  expect(await b.ask(() => answered)).toEqual(answered);
});

test.for<[string, (path: string) => void]>([
  ['is no JSON', (path) => writeFileSync(path, '{"schema_version":1')],
  ['is empty', (path) => writeFileSync(path, '')],
  [
    'has a time that is none',
    (path) => writeFileSync(path, readFileSync(path, 'utf8').replace(/"until": ".*"/, '"until": "soon"')),
  ],
  [
    'is a folder',
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  ],
  [
    'was made in the future',
    (path) => writeFileSync(path, readFileSync(path, 'utf8').replaceAll('2026-', '2029-')),
  ],
  [
    'is that of another account',
    (path) => writeFileSync(path, readFileSync(path, 'utf8').replace(/"id": "./, '"id": "x')),
  ],
])('a hold whose file %s holds nobody back', async ([, damage]) => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + hour));
  damage(join(it.runsDir, 'holds', it.names()?.[0] ?? ''));
  const b = await it.engine('b');
  for (let n = 0; n < 3; n++) expect(await b.ask(() => answered)).toEqual(answered);
  expect(it.lines.filter((line) => line.includes('cannot be read')).length).toBeLessThanOrEqual(1);
});

test('where holds cannot be written, that is said once, and the runs go by themselves', async () => {
  const it = folder();
  writeFileSync(join(it.runsDir, 'holds'), '');
  const a = await it.engine('a');
  for (let n = 0; n < 3; n++)
    expect(await a.ask(() => limited(start + hour))).toMatchObject({ class: 'infra' });
  expect(a.calls()).toBe(3);
  expect(it.lines).toEqual(['a hold of an account cannot be written: other runs do not know of it']);
});

test('a run in the directory of another one uses the holds of the outermost', () => {
  const it = folder();
  const outer = join(it.runsDir, 'r1');
  const nested = join(outer, 'workspace/.factory/runs/r2');
  const innermost = join(nested, 'workspace/.factory/runs/r3');
  for (const dir of [outer, nested, innermost]) {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'journal.jsonl'), '');
  }
  expect([outer, nested, innermost].map(holdsFolderOf)).toEqual([it.runsDir, it.runsDir, it.runsDir]);
});

test('a hold that a person removes holds nobody back any more', async () => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + hour));
  const [hold] = holdsOf(it.runsDir);
  expect(removeHold(it.runsDir, hold?.id ?? '')).toBe(true);
  expect(removeHold(it.runsDir, hold?.id ?? '')).toBe(false);
  expect(await (await it.engine('b')).ask(() => answered)).toEqual(answered);
});

test('of a list of agents, the next is asked where the first is on hold', async () => {
  const it = folder();
  await (await it.engine('a')).ask(() => limited(start + hour));
  const b = await it.engine('b');
  const asked: string[] = [];
  const saying = (name: string, its: Partial<Agent> = {}) =>
    agentOf(
      () => {
        asked.push(name);
        return answered;
      },
      { name, ...its },
    );
  const list = fallbackAgent([saying('openai'), saying('claude', { accountFor: () => undefined })]);
  const report = await b.desk.paying(list, 1).work(taskFor(), new AbortController().signal);
  expect(report).toMatchObject({
    kind: 'answered',
    by: { agent: 'claude', tried: [{ agent: 'openai', reason: 'too many ***' }] },
  });
  expect(asked).toEqual(['claude']);
});
