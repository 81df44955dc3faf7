/** Several processes whose runs share an account, at the reset of its quota. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { home } from '../support/in-process.ts';
import { killedWhen } from '../support/killed.ts';
import { type Reaction, startModelServer } from '../support/model-server.ts';

const dot = `digraph t { workdir=none; park_after="0s"; start [shape=Mdiamond]; work [prompt="do it", max_retries=0]
  done [shape=Msquare]; start -> work -> done }`;
const runs = ['r1', 'r2', 'r3'];
const limited = (seconds: number): Reaction => ({ status: 429, headers: { 'retry-after': `${seconds}` } });
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

type Answer = (index: number) => Reaction | Promise<Reaction>;

/** Runs that are suspended until the same reset, and a provider that answers the requests after it as `answer` says. On a busy
 *  machine two seconds may pass before the last of them begins: then all begin again, with a later reset. */
async function atTheReset(answer: Answer) {
  return (await suspendedUntil(2, answer)) ?? (await suspendedUntil(20, answer)) ?? expect.fail('too slow');
}

async function suspendedUntil(seconds: number, answer: Answer) {
  let reset = 0;
  let isReady = false;
  const server = await startModelServer((_, index) => {
    if (isReady) return answer(index - 1);
    if (index === 0) reset = Date.now() + seconds * 1000;
    return limited(seconds);
  });
  const env = { OPENAI_API_KEY: 'sk-holds-0123456789', OPENAI_BASE_URL: server.url };
  const it = await home({ 'p.dot': dot });
  for (const id of runs) {
    const ran = await it.factory(['run', 'p.dot', '--run-id', id], { env });
    expect([ran.code, ran.stdout], ran.stderr).toEqual([75, expect.stringContaining('too many requests')]);
  }
  if (Date.now() >= reset) {
    await server.close();
    await it[Symbol.asyncDispose]();
    return undefined;
  }
  expect(server.requests).toHaveLength(1);
  isReady = true;
  await later(Math.max(0, reset + 20 - Date.now()));
  const at = (...names: string[]) => join(it.path, '.factory/runs', ...names);
  return {
    ...it,
    env,
    asked: () => server.requests.length - 1,
    holds: () => (existsSync(at('holds')) ? readdirSync(at('holds')) : []),
    parked: (id: string) => JSON.parse(readFileSync(at(id, 'checkpoint.json'), 'utf8')).parked,
    resumed: () => Promise.all(runs.map((id) => it.program(['resume', id], { env }))),
    async [Symbol.asyncDispose]() {
      await server.close();
      await it[Symbol.asyncDispose]();
    },
  };
}

test('runs that begin under a hold make no call; at the reset one goes first, and all continue once it has succeeded', async () => {
  let before = 0;
  await using it = await atTheReset(async (index) => {
    if (index > 0) return { text: 'ok' };
    await later(3000);
    before = it.asked();
    return { text: 'ok' };
  });
  const ended = await it.resumed();
  expect(
    ended.map(({ code }) => code),
    ended.map(({ stderr }) => stderr).join(''),
  ).toEqual([0, 0, 0]);
  expect([before, it.asked(), it.holds()]).toEqual([1, 3, []]);
});

test('another limit at the reset moves all of them to the later time by one call', async () => {
  await using it = await atTheReset(async () => {
    await later(1500);
    return limited(3600);
  });
  const ended = await it.resumed();
  expect(
    ended.map(({ code }) => code),
    ended.map(({ stderr }) => stderr).join(''),
  ).toEqual([75, 75, 75]);
  expect(it.asked()).toBe(1);
  expect(it.holds()).toHaveLength(1);
  const all = runs.map((id) => it.parked(id));
  expect(all.map(({ windows, again }) => [windows, again])).toEqual(runs.map(() => [1, 1]));
  expect(new Set(all.map(({ wake_at }) => wake_at)).size).toBe(1);
});

test('a process that is killed in the call that goes first is followed by another, and counts no reset twice', async () => {
  const hangs: Reaction = { hang: true };
  await using it = await atTheReset((index) => (index < 3 ? hangs : limited(3600)));
  // Three kills in the same window.
  for (let kill = 1; kill <= 3; kill++)
    await killedWhen(
      ['resume', 'r1'],
      { cwd: it.path, env: { ...it.env, HOME: it.path } },
      () => it.asked() === kill,
    );
  expect(it.holds()).toHaveLength(4);
  const other = await it.program(['resume', 'r2'], { env: it.env });
  expect([other.code, it.asked()], other.stderr).toEqual([75, 4]);
  const again = await it.program(['resume', 'r1'], { env: it.env });
  expect([again.code, it.asked()], again.stderr).toEqual([75, 4]);
  expect(it.parked('r1')).toMatchObject({ windows: 1, wake_at: it.parked('r2').wake_at });
});
