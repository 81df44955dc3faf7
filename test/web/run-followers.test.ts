/** The one follower of a run: what it reads and makes for many clients, and what each of them is sent. */
import { appendFileSync, cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunRow } from '../../src/app/inspect/run-row.ts';
import { startRun } from '../../src/app/run/index.ts';
import { layout } from '../../src/core/records/layout.ts';
import { openRun } from '../../src/run/open-run.ts';
import { openRunFollowers, pauseAfter } from '../../src/web/run-followers.ts';
import { runMessages } from '../../src/web/run-messages.ts';
import { type Temp, temp } from '../platform/temp.ts';
import { handClock } from '../support/clock.ts';
import { pipelineIn, plainFlags, quietDoors } from '../support/host.ts';

let it: Temp;
let copies = 0;

beforeAll(async () => {
  it = await temp();
  const dot = 'digraph g { workdir="none"; start [type=start]; exit [type=exit]; start -> exit }';
  const graph = await pipelineIn(it.dir, dot);
  await startRun(graph, { runsDir: it.at('runs'), runId: 'r' }, plainFlags, quietDoors(it.dir));
});
afterAll(() => it[Symbol.asyncDispose]());

/** A copy of a run with `count` events, that goes on; and its followers, whose clock the test moves. */
function running(count: number) {
  const dir = it.at(`copy-${copies++}`);
  cpSync(it.at('runs', 'r'), dir, { recursive: true });
  const at = layout(dir);
  let seq = 0;
  let texts = 0;
  const time = () => new Date(Date.UTC(2026, 0, 1) + 1000 * (seq + texts)).toISOString();
  const line = (type: string) => {
    seq += 1;
    return `${JSON.stringify({ seq, run_id: 'r', epoch: 1, schema_version: 1, at: time(), type })}\n`;
  };
  writeFileSync(at.events, Array.from({ length: count }, () => line('Told')).join(''));
  let row: Partial<RunRow> | undefined = { run_id: 'r', started_at: 'once', status: 'running', headline: '' };
  const counts = { opened: 0, views: 0, rows: 0, changed: 0 };
  const clock = handClock(0);
  const server = () => {
    const closing = new AbortController();
    const followers = openRunFollowers({
      clock,
      closing: closing.signal,
      open: (path) => {
        counts.opened += 1;
        const reader = openRun(path);
        const view = reader.view.bind(reader);
        return Object.assign(reader, {
          view: (...asked: Parameters<typeof view>) => {
            counts.views += 1;
            return view(...asked);
          },
        });
      },
      row: async () => {
        counts.rows += 1;
        return row as RunRow | undefined;
      },
      changed: () => {
        counts.changed += 1;
      },
    });
    return { followers, closing };
  };
  return {
    ...{ dir, at, counts, clock, server, last: () => seq },
    event: (type = 'Told') => appendFileSync(at.events, line(type)),
    print(node: string, text: string) {
      texts += 1;
      const piece = { at: time(), node, visit: 1, channel: 'stdout', text };
      appendFileSync(at.live, `${JSON.stringify(piece)}\n`);
    },
    shows: (changed: Partial<RunRow> | undefined) => {
      row = changed && { ...row, ...changed };
    },
  };
}
type Running = ReturnType<typeof running>;

/** A client that takes everything, or nothing after its first message if it is `stuck`. */
function client({ clock, dir }: Running, { followers }: ReturnType<Running['server']>, after = 0) {
  const leaves = new AbortController();
  const pieces: (string | Uint8Array)[] = [];
  const messages = runMessages(followers, { id: 'r', dir }, after, leaves.signal);
  let all = '';
  let ended = false;
  let failed: unknown;
  const take = async (isEnough: () => boolean = () => false): Promise<void> => {
    try {
      for (let one = await messages.next(); ; one = await messages.next()) {
        if (one.done === true) break;
        pieces.push(one.value);
        all += Buffer.from(one.value).toString();
        if (isEnough()) return;
      }
    } catch (error) {
      failed = error;
    }
    ended = true;
  };
  return {
    ...{ pieces, take },
    text: () => all,
    ended: () => ended,
    failed: () => failed,
    seqs: () => [...all.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq)),
    leave: () => leaves.abort(),
    /** Lets time pass until it was sent `what`. */
    async got(what: string): Promise<void> {
      for (let turn = 0, read = -1; turn < 2000 && failed === undefined; turn += 1) {
        if (read !== all.length && all.includes(what)) return;
        read = all.length;
        clock.advance(100);
        await new Promise((resolve) => setImmediate(resolve));
      }
      throw failed ?? new Error(`no "${what}" in ${all.slice(-2000)}`);
    },
  };
}
type Client = ReturnType<typeof client>;

const fromTo = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** Lets time pass while nothing new comes. */
async function quiet({ clock }: Running): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) {
    clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('many clients cost one reader, and each message is made once', async () => {
  const run = running(20);
  const server = run.server();
  const clients = fromTo(1, 40).map(() => client(run, server));
  for (const one of clients) void one.take();
  for (const one of clients) await one.got('event: ready');
  const before = { ...run.counts };
  const already = clients.map(({ pieces }) => pieces.length);
  for (const change of fromTo(1, 10)) {
    run.event();
    run.shows({ headline: `change ${change}` });
    for (const one of clients) await one.got(`"headline":"change ${change}"`);
  }
  expect(run.counts.opened).toBe(1);
  // A look reads the row once and the events twice: at most three looks a change, however many clients.
  expect(run.counts.rows - before.rows).toBeLessThanOrEqual(30);
  expect(run.counts.views - before.views).toBeLessThanOrEqual(60);
  expect(run.counts.changed - before.changed).toBe(10);
  const [first] = clients;
  for (const [at, { pieces, seqs }] of clients.entries()) {
    expect(seqs()).toEqual(fromTo(1, 30));
    for (const [number, piece] of pieces.slice(already[at]).entries())
      expect(piece).toBe(first?.pieces[(already[0] ?? 0) + number]);
  }
  for (const one of clients) one.leave();
});

test('the follower begins with the first client and ends with the last one', async () => {
  const run = running(3);
  const server = run.server();
  const [one, other] = [client(run, server), client(run, server)];
  for (const each of [one, other]) void each.take();
  await one.got('event: ready');
  await other.got('event: ready');
  one.leave();
  await quiet(run);
  expect(run.counts.opened).toBe(1);
  const { rows } = run.counts;
  await quiet(run);
  expect(run.counts.rows).toBeGreaterThan(rows);
  other.leave();
  await quiet(run);
  const after = run.counts.rows;
  await quiet(run);
  expect(run.counts.rows).toBe(after);
  expect([one.ended(), other.ended()]).toEqual([true, true]);
  const third = client(run, server);
  void third.take();
  await third.got('event: ready');
  expect(run.counts.opened).toBe(2);
  third.leave();
});

test.for([0, 1, 4, 1499, 1500, 1501, 2600])(
  'a client that comes later, and has %i events, is sent what a client alone is sent',
  async (after) => {
    const run = running(1500);
    const server = run.server();
    const first = client(run, server);
    void first.take();
    await first.got('event: ready');
    for (const turn of fromTo(1, 3)) {
      run.print('a', `one ${turn}`);
      run.event();
      run.print('b', `two ${turn}`);
      await first.got(`two ${turn}`);
    }
    const views = run.counts.views;
    const late = client(run, server, after);
    void late.take();
    await late.got('event: ready');
    // The end of the file is found by what the follower knows of it.
    if (after >= 1500) expect(run.counts.views - views).toBeLessThanOrEqual(8);
    const alone = client(run, run.server(), after);
    void alone.take();
    await alone.got('event: ready');
    run.print('a', 'the last');
    run.event();
    for (const one of [late, alone]) if (after < 2600) await one.got('"seq":1504');
    await quiet(run);
    expect(late.text()).toBe(alone.text());
    expect(late.seqs()).toEqual(fromTo(after + 1, 1504));
    // Each client of the run has the same text of what runs now: it begins once for each execution.
    if (after < 2600) expect(late.text().match(/"begins":true/g)).toHaveLength(2);
    for (const one of [first, late, alone]) one.leave();
  },
);

test('a client that does not read is sent what it lacks when it reads again, and nothing grows meanwhile', async () => {
  const run = running(5);
  const server = run.server();
  const stuck = client(run, server);
  const isReady = stuck.take(() => stuck.text().includes('event: ready'));
  await stuck.got('event: ready');
  await isReady;
  const reads = client(run, server);
  void reads.take();
  await reads.got('event: ready');
  // More than is kept: the texts of twelve executions, each of which replaces the file.
  for (const turn of fromTo(1, 12)) {
    rmSync(run.at.live, { force: true });
    for (const part of fromTo(1, 4)) run.print(`n${turn}`, `${turn}.${part} ${'x'.repeat(256 * 1024)}`);
    run.event();
    await reads.got(`"seq":${run.last()}`);
  }
  run.shows({ headline: 'much later' });
  await reads.got('much later');
  void stuck.take();
  await stuck.got('much later');
  expect(stuck.seqs()).toEqual(fromTo(1, 17));
  expect(reads.seqs()).toEqual(fromTo(1, 17));
  const executions = [...stuck.text().matchAll(/"node":"(n\d+)"[^}]*?"text":"(\S+)/g)].map(
    ([, , text]) => text,
  );
  expect(executions).toEqual(['12.1', '12.2', '12.3', '12.4']);
  run.event();
  await stuck.got('"seq":18');
  for (const one of [stuck, reads]) one.leave();
});

test.for<[string, (run: Running) => void, (one: Client) => void]>([
  [
    'is removed',
    (run) => {
      rmSync(run.dir, { recursive: true });
      run.shows(undefined);
    },
    (one) => expect(one.text()).toMatch(/event: gone\ndata: {"run_id":"r"}\n\n$/),
  ],
  [
    'is another one by now',
    (run) => run.shows({ started_at: 'later' }),
    (one) => expect(one.text()).toMatch(/event: gone\ndata: {"run_id":"r"}\n\n$/),
  ],
  [
    'is another one, with events that are not for its clients',
    (run) => {
      run.event('Other');
      run.shows({ started_at: 'later' });
    },
    (one) => expect(one.text()).not.toContain('Other'),
  ],
])('a run that %s', async ([, change, check]) => {
  const run = running(3);
  const server = run.server();
  const clients = [client(run, server), client(run, server)];
  for (const one of clients) void one.take();
  for (const one of clients) await one.got('event: ready');
  change(run);
  await quiet(run);
  for (const one of clients) {
    check(one);
    one.leave();
  }
});

test('a run that could not be read for a while and is another one by then is gone', async () => {
  const run = running(3);
  const one = client(run, run.server());
  void one.take();
  await one.got('event: ready');
  run.shows({ status: 'unreadable', started_at: '' });
  await one.got('unreadable');
  run.shows({ status: 'running', started_at: 'later' });
  await one.got('event: gone');
});

test('a client that catches up is sent nothing of a run that has come to that place meanwhile', async () => {
  const run = running(1500);
  const one = client(run, run.server());
  const some = one.take(() => one.text().includes('"seq":100,'));
  await one.got('"seq":100,');
  await some;
  const other = join(run.dir, 'other');
  writeFileSync(other, readFileSync(run.at.events, 'utf8').replaceAll('Told', 'Other'));
  renameSync(other, run.at.events);
  run.shows({ started_at: 'later' });
  void one.take();
  await one.got('event: gone');
  expect(one.text()).not.toContain('Other');
});

test('a journal that is replaced is read from its beginning, without what was sent', async () => {
  const run = running(700);
  const server = run.server();
  const one = client(run, server);
  void one.take();
  await one.got('event: ready');
  const copy = join(run.dir, 'copy');
  writeFileSync(copy, readFileSync(run.at.events));
  renameSync(copy, run.at.events);
  run.event();
  await one.got('"seq":701');
  const late = client(run, server, 650);
  void late.take();
  await late.got('event: ready');
  expect(one.seqs()).toEqual(fromTo(1, 701));
  expect(late.seqs()).toEqual(fromTo(651, 701));
  for (const each of [one, late]) each.leave();
});

test('an error of the reader ends the streams with it, and a later client has a new one', async () => {
  const run = running(3);
  const { clock, closing, ...host } = { clock: run.clock, closing: new AbortController().signal };
  let broken = false;
  const followers = openRunFollowers({
    ...host,
    ...{ clock, closing, open: openRun, changed: () => {} },
    row: async () => {
      if (broken) throw new Error('the disk is gone');
      return { run_id: 'r', started_at: 'once' } as RunRow;
    },
  });
  const server = { followers, closing: new AbortController() };
  const one = client(run, server);
  void one.take();
  await one.got('event: ready');
  broken = true;
  await quiet(run);
  expect(one.failed()).toMatchObject({ message: 'the disk is gone' });
  broken = false;
  const other = client(run, server);
  void other.take();
  await other.got('event: ready');
  other.leave();
});

test('the streams end when the server stops', async () => {
  const run = running(3);
  const server = run.server();
  const one = client(run, server);
  void one.take();
  await one.got('event: ready');
  server.closing.abort();
  await quiet(run);
  expect([one.ended(), one.failed()]).toEqual([true, undefined]);
});

test.for([
  [1, 0, 41],
  [100, 2000, 142],
  [500, 2000, 550],
  [500, 4_000_000, 1000],
] as const)('%i clients that were sent %i bytes have the next after %i ms', ([clients, bytes, ms]) => {
  expect(pauseAfter(clients, bytes)).toBe(ms);
});
