/** The order in which a run's records are flushed: what a power failure would leave. */
import fs, { appendFileSync, mkdirSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Exchange } from '../../src/model/exchange.ts';
import { exchangesLayout, layout } from '../../src/model/layout.ts';
import { succeeded } from '../../src/model/outcome.ts';
import type { VisitFacts } from '../../src/store/visits.ts';
import { noteDisk } from '../support/disk-notes.ts';
import { freshState } from '../support/graph.ts';
import { temp } from '../system/temp.ts';

const at = '2026-01-01T00:00:00.000Z';

const visit: VisitFacts = {
  schema_version: 1,
  type: 'Visit',
  at,
  node: 'a',
  node_type: 'tool',
  visit: 1,
  before: 's0',
  after: 's0',
  outcome: succeeded(),
  retries: 0,
  calls: 0,
  context: { set: {}, unset: [] },
  origins: { set: {} },
  next_node: 'start',
  arrived: null,
  steps: 1,
  elapsed_ms: 0,
};

const exchange = (prompt: Exchange['prompt']): Exchange => ({
  schema_version: 1,
  run_id: 'r',
  epoch: 1,
  at,
  node: 'ask',
  visit: 1,
  attempt: 1,
  call: 1,
  complete: true,
  agent: { name: 'fake', describe: 'fake' },
  attributes: {},
  prompt_sha256: '0'.repeat(64),
  prompt,
  schema: null,
  items: '',
  items_dropped: 0,
  report: null,
  artifacts: [],
  actions: [],
  hidden: { paths: [], made: [] },
  files: null,
  usage: null,
  elapsed_ms: 1,
  replayed: null,
});

/** The notes that match these patterns, in order. */
function orderOf(told: readonly string[], ...patterns: readonly RegExp[]): readonly string[] {
  return told.flatMap((what) => patterns.find((pattern) => pattern.test(what))?.source ?? []);
}

test('a checkpoint is renamed after the line that it counts is flushed, and is saved after its folder is flushed', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { openLedger } = await import('../../src/store/checkpoint.ts');
  const ledger = await openLedger(it.dir, { runId: 'R', epoch: 1 });
  const state = freshState('start', { run_id: 'R', snapshot: 's0' });
  const start = { schema_version: 1, at, next_node: 'start', context: {}, origins: {} } as const;
  await ledger.save(state, { ...start, type: 'Start', snapshot: 's0' });
  const before = disk.told.length;
  await ledger.save({ ...state, last_completed_node: 'a', steps: 1, last_outcome: succeeded(), at }, visit);
  const told = disk.told.slice(before);
  const [lines, text] = [/^flushed .*\/visits\.jsonl$/, /^flushed .*\/\.checkpoint\.json\./];
  const [moved, name] = [/^moved .*\/\.checkpoint\.json\./, new RegExp(`^flushed ${it.dir}$`)];
  const order = orderOf(told, lines, text, moved, name);
  expect(order.slice(0, 2).sort()).toEqual([text.source, lines.source].sort());
  expect(order.slice(2)).toEqual([moved.source, name.source]);
  await ledger.close();
});

test('a long text of an exchange is flushed with its folder before the line that names it, also an existing one', async () => {
  await using it = await temp();
  const dir = it.at('exchanges');
  for (const engine of ['first', 'next']) {
    using disk = noteDisk();
    const { openExchanges } = await import('../../src/store/exchanges.ts');
    const log = openExchanges(dir);
    const body = await log.body('long '.repeat(1000));
    await log.append(exchange(body));
    log.close();
    const at = exchangesLayout(dir);
    const line = disk.told.lastIndexOf(`flushed ${at.calls}`);
    expect({ engine, line: line >= 0 }).toEqual({ engine, line: true });
    for (const folder of [at.bodies, dir]) {
      const flushed = disk.told.lastIndexOf(`flushed ${folder}`, line);
      expect({ engine, folder, flushed: flushed >= 0 }).toEqual({ engine, folder, flushed: true });
    }
    if (engine === 'next') continue;
    const text = disk.told.findIndex((what) => what.startsWith(`flushed ${at.bodies}/.`));
    const moved = disk.told.findIndex((what) => what.startsWith(`moved ${at.bodies}/.`));
    expect([text >= 0, text < moved]).toEqual([true, true]);
    expect(moved).toBeLessThan(disk.told.indexOf(`flushed ${at.bodies}`));
    // The journal's folder was flushed when it was opened; the folder of texts is newer.
    expect(disk.told.lastIndexOf(`flushed ${dir}`)).toBeGreaterThan(
      disk.told.lastIndexOf(`flushed ${at.bodies}`),
    );
  }
});

test('the first line of the exchanges is flushed with the folder of its file', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { openExchanges } = await import('../../src/store/exchanges.ts');
  const log = openExchanges(it.at('exchanges'));
  await log.append(exchange('short'));
  log.close();
  expect(disk.told).toEqual([
    `flushed ${it.at('exchanges')}`,
    `flushed ${exchangesLayout(it.at('exchanges')).calls}`,
  ]);
});

/** The lock of the run in `dir`, with a heartbeat that the test triggers. */
async function beaten(dir: string) {
  const { acquireLock } = await import('../../src/store/lock.ts');
  const { realClock } = await import('../../src/system/clock.ts');
  let beat = () => {};
  const answer = await acquireLock(dir, {
    clock: realClock,
    every: (_, work) => {
      beat = work;
      return () => {};
    },
  });
  if (answer.kind !== 'acquired') throw new Error(answer.why);
  return { lock: answer.lock, beat: () => beat() };
}

test('a lock is flushed before its rename, its folder before the run is owned, and each heartbeat too', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { lock, beat } = await beaten(it.dir);
  const [text, name] = [/^flushed .*\/lock\/\.000001\.json\./, /^flushed .*\/lock$/];
  expect(orderOf(disk.told, text, name)).toEqual([text.source, name.source]);
  const before = disk.told.length;
  beat();
  await lock.stillOwner();
  const moved = /^moved .*\/lock\/\.000001\.json\./;
  expect(orderOf(disk.told.slice(before), text, moved)).toEqual([text.source, moved.source]);
  await lock.release();
});

test('a lock released during a heartbeat is free, whichever write ends first', async () => {
  await using it = await temp();
  const { fdatasync } = fs;
  const held: (() => void)[] = [];
  let isHeld = false;
  const holding: typeof fdatasync = Object.assign((file: number, done: fs.NoParamCallback) => {
    if (isHeld) held.push(() => fdatasync(file, done));
    else fdatasync(file, done);
  }, fdatasync);
  fs.fdatasync = holding;
  syncBuiltinESMExports();
  vi.resetModules();
  try {
    const { lock, beat } = await beaten(it.dir);
    isHeld = true;
    beat();
    await vi.waitFor(() => expect(held).toHaveLength(1), { interval: 1 });
    isHeld = false;
    const free = lock.release();
    // A release that did not wait for the heartbeat would be done by now.
    for (let turn = 0; turn < 50; turn++) await new Promise((next) => setImmediate(next));
    for (const goOn of held) goOn();
    await free;
    await lock.stillOwner();
  } finally {
    fs.fdatasync = fdatasync;
    syncBuiltinESMExports();
  }
  expect(JSON.parse(readFileSync(it.at('lock', '000001.json'), 'utf8')).released).not.toBeNull();
});

test('sealed files and their key are flushed, with all new folders', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { writeSealed } = await import('../../src/store/sealed.ts');
  const run = it.at('run');
  mkdirSync(run);
  const keys = it.at('state', 'factory', 'keys');
  const sealed = await writeSealed(run, [], { FACTORY_KEYS: keys });
  if ('problem' in sealed) throw new Error(sealed.problem.message);
  const { told } = disk;
  for (const path of [join(keys, sealed.key), keys, dirname(keys), it.at('state'), it.dir, run])
    expect({ path, told: told.includes(`flushed ${path}`) }).toEqual({ path, told: true });
  const [text, moved] = [/^flushed .*\/\.\.sealed\./, /^moved .*\/\.\.sealed\./];
  const name = new RegExp(`^flushed ${run}$`);
  expect(orderOf(told, text, moved, name)).toEqual([text.source, moved.source, name.source]);
});

test('journals of a killed process are flushed before a new record relies on them', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { mendJournals } = await import('../../src/store/marks.ts');
  const { events, trace, exchanges } = layout(it.dir);
  const { calls } = exchangesLayout(exchanges);
  mkdirSync(dirname(calls));
  for (const path of [events, trace, calls]) appendFileSync(path, '{"seq":1,"epoch":1}\n{"seq":2,');
  await mendJournals(it.dir);
  expect(disk.told).toEqual([events, trace, calls].map((path) => `flushed ${path}`));
  for (const path of [events, trace, calls]) expect(readFileSync(path, 'utf8')).toBe('{"seq":1,"epoch":1}\n');
});

test('the folder of a new journal is flushed once it is open, and its lines once a flush has settled', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { openJournal } = await import('../../src/store/journal.ts');
  const path = it.at('events.jsonl');
  const journal = await openJournal(path, { runId: 'r', epoch: 1 });
  expect(disk.told).toEqual([`flushed ${it.dir}`]);
  journal.append({ type: 'x' });
  const { flushed, written } = journal.marks();
  expect([flushed.records, written.records]).toEqual([0, 1]);
  await journal.flush();
  expect(disk.told).toEqual([`flushed ${it.dir}`, `flushed ${path}`]);
  expect(journal.marks().flushed).toEqual(written);
  journal.append({ type: 'y' });
  await journal.close();
  expect(disk.told.slice(2)).toEqual([`flushed ${path}`]);
});

test('after a failed flush no later flush counts as success, although the system reports one', async () => {
  await using it = await temp();
  const path = it.at('events.jsonl');
  using disk = noteDisk(path);
  const { openJournal } = await import('../../src/store/journal.ts');
  const journal = await openJournal(path, { runId: 'r', epoch: 1 });
  journal.append({ type: 'x' });
  await expect(journal.flush()).rejects.toThrow('EIO');
  disk.mend();
  journal.append({ type: 'y' });
  await expect(journal.flush()).rejects.toMatchObject({ code: 'EIO', path });
  await expect(journal.close()).rejects.toThrow('EIO');
  expect(journal.marks().flushed.records).toBe(0);
  expect(readFileSync(path, 'utf8').split('\n').length).toBe(3);
});

test('a line appended during a flush does not count as flushed', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { openJournal } = await import('../../src/store/journal.ts');
  const path = it.at('events.jsonl');
  const journal = await openJournal(path, { runId: 'r', epoch: 1 });
  journal.append({ type: 'x' });
  const flush = journal.flush();
  // It begins in a later turn of the microtasks, and ends in a later turn of the loop.
  for (let turn = 0; turn < 3; turn++) await Promise.resolve();
  journal.append({ type: 'y' });
  expect(disk.told).not.toContain(`flushed ${path}`);
  await flush;
  const { flushed, written } = journal.marks();
  expect([flushed.records, written.records]).toEqual([1, 2]);
  await journal.close();
});

test('an abandoned file is closed only after its flush has ended', async () => {
  await using it = await temp();
  using disk = noteDisk();
  const { writeFileAtomic } = await import('../../src/system/files.ts');
  const first = () => Promise.reject(new Error('the lines are not on the disk'));
  await expect(writeFileAtomic(it.at('a'), 'a', { sync: true, first })).rejects.toThrow('the lines');
  expect(disk.told).toEqual([expect.stringMatching(/^flushed .*\/\.a\./)]);
});
