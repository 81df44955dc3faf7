/** The session of an agent as people see it: while it works, when it has ended, when its engine was killed. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { inspectSession } from '../../../src/app/inspect/session.ts';
import type { Session } from '../../../src/app/inspect/session-shape.ts';
import { realClock } from '../../../src/platform/clock.ts';
import { house } from '../../support/house.ts';
import { base, inDot } from '../../support/sealed-run.ts';
import { onDisk } from '../../support/temporary.ts';

onDisk();

const token = 'harbour-token-48213';
/** Waits for a file of the test. */
const wait = (name: string): string => `until [ -e "$HOUSE/${name}" ]; do sleep 0.02; done`;
const agent = `#!/bin/sh
say() { printf '%s' "$1" >> "$FACTORY_SESSION_FILE"; }
say '{"type":"turn"}
{"type":"call","id":"1","name":"bash","arguments":{"command":"npm test"}}
{"type":"result","id":"1","ok":false,"output":"the key is harbour-to'
touch "$HOUSE/half"
${wait('more')}
say 'ken-48213 and more"}
{"type":"usage","model":"gpt-5","input_tokens":1000,"output_tokens":10,"first_ms":40}
'
${wait('end')}
say '{"type":"text","text":"Done."}
'
`;
const dot = (more = '') => `digraph g {
  ${more}
  start [shape=Mdiamond] exit [shape=Msquare]
  work [agent=command, command.run="sh agent.sh", prompt="Do it", response_via=none, command.env_keys="DOCK_TOKEN",
    command.allow_read_scenarios=${more !== ''}, max_retries=0]
  last [shape=parallelogram, tool_command="${inDot(wait('close'))}"]
  start -> work -> last -> exit
}`;

async function startedRun(more = '') {
  const it = await house(
    { ...(more === '' ? { 'w/a.txt': 'a' } : base), 'w/agent.sh': agent, 'p.dot': dot(more) },
    (path) => ({ HOUSE: path, DOCK_TOKEN: token, FACTORY_SANDBOX: 'none' }),
  );
  const controller = new AbortController();
  const ran = it.called(['run', 'p.dot'], { runId: 'r', workdir: 'w', quiet: true }, undefined, controller);
  const dir = join(it.path, '.factory/runs/r');
  const host = { cwd: it.path, clock: realClock, env: {} };
  const look = async (query = {}, of = dir): Promise<Session> => {
    const session = await inspectSession(of, 'work', undefined, host, query);
    if ('problems' in session) throw new Error(JSON.stringify(session));
    return session;
  };
  const until = (fits: (session: Session) => boolean): Promise<Session> =>
    vi.waitFor(
      async () => {
        const session = await look();
        if (!fits(session)) throw new Error(JSON.stringify(session));
        return session;
      },
      { timeout: 30_000, interval: 20 },
    );
  const let_ = (name: string) => writeFileSync(join(it.path, name), '');
  return { it, dir, ran, look, until, let: let_, controller };
}

const live = (dir: string): string =>
  [join(dir, '.live.jsonl'), join(dir, '.sessions/work@1.jsonl')]
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8'))
    .join('');

test('a session grows while its agent works, without secrets, and stays the same in its records', async () => {
  const { it, dir, ran, look, until, let: go } = await startedRun();
  await using _ = it;
  const half = await until(({ counts }) => counts.calls === 1);
  expect(half).toMatchObject({ source: 'live', state: 'running', withheld: false, agent: 'command' });
  expect(half.items).toMatchObject([{ turn: 1, text: 'npm test', call: { state: 'running', output: '' } }]);
  await vi.waitFor(() => expect(existsSync(join(it.path, 'half'))).toBe(true));
  expect(live(dir)).not.toContain('harbour-to');
  go('more');
  const more = await until(({ turns }) => turns[0]?.usage !== null);
  expect(more.items[0]?.call).toMatchObject({ state: 'failed', output: 'the key is *** and more' });
  expect(more).toMatchObject({
    first_ms: 40,
    cost_usd: 0.00135,
    counts: { turns: 1, calls: 1, failed: 1, items: 1 },
  });
  // A copy of the directory is what an engine that was killed here would leave.
  const killed = join(it.path, '.factory/runs/k');
  cpSync(dir, killed, { recursive: true });
  rmSync(join(killed, 'lock'), { recursive: true });
  const left = await look({}, killed);
  expect(left).toMatchObject({ source: 'live', state: 'interrupted', items: more.items });
  go('end');
  const ended = await until(({ state }) => state !== 'running');
  expect(ended).toMatchObject({ source: 'command', state: 'success' });
  expect(ended.items.slice(0, 1)).toEqual(more.items);
  expect(ended.items.at(-1)).toMatchObject({ kind: 'text', text: 'Done.' });
  expect(live(dir)).not.toContain('harbour-to');
  go('close');
  expect((await ran).err).not.toContain('left out');
  expect(readdirSync(dir)).not.toContain('.sessions');
  expect(await it.verb(['verify', 'r'])).toMatchObject({ code: 0 });
  expect(it.read('.factory/runs/r/work/command.session.jsonl')).not.toContain('harbour-to');
  // The killed one is resumed: what it had is gone, and its new attempt has another session.
  expect(await it.resume('k', { quiet: true })).toMatchObject({ code: 0 });
  expect(await look({}, killed)).toMatchObject({ source: 'command', counts: { turns: 1, items: 2 } });
  expect(await it.verb(['verify', 'k'])).toMatchObject({ code: 0 });
});

test('items are asked for in parts, one by one and by words', async () => {
  const { it, ran, look, let: go } = await startedRun();
  await using _ = it;
  for (const name of ['more', 'end', 'close']) go(name);
  await ran;
  const numbers = (session: Session) => session.items.map(({ number }) => number);
  expect(numbers(await look())).toEqual([0, 1]);
  expect(numbers(await look({ from: 1 }))).toEqual([1]);
  expect(numbers(await look({ limit: 1 }))).toEqual([0]);
  expect(numbers(await look({ item: 1 }))).toEqual([1]);
  expect((await look({ words: 'AND more', limit: 1 })).found).toEqual([0]);
  expect((await look({ words: token })).found).toEqual([]);
  const shown = await it.verb(['show', 'r', 'work'], { session: true });
  expect(shown.out).toContain('✗ bash npm test');
  expect(shown.out).toContain('the key is *** and more');
  expect(JSON.parse((await it.verb(['show', 'r', 'work'], { session: true, json: true })).out)).toMatchObject(
    {
      schema_version: 1,
      source: 'command',
    },
  );
});

test('the session of an agent that sees the holdout is withheld until the run has ended', async () => {
  const { it, dir, ran, look, let: go, controller } = await startedRun('holdout="scripts/scenarios/"');
  await using _ = it;
  go('more');
  go('end');
  await vi.waitFor(() => expect(existsSync(join(dir, 'last/stage.json'))).toBe(true), { timeout: 30_000 });
  expect(await look({ words: 'key' })).toMatchObject({ withheld: true, items: [], turns: [], found: [] });
  expect(existsSync(join(dir, '.sessions'))).toBe(false);
  expect(live(dir)).not.toContain('npm test');
  go('close');
  await ran;
  controller.abort();
  expect(await look()).toMatchObject({ withheld: false, source: 'command', counts: { items: 2 } });
});
