/** What a process that ends anywhere leaves in the folders of a queue, and what the next one makes of it. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { fleetLayout } from '../../src/fleet/layout.ts';
import { processName } from '../../src/fleet/process-name.ts';
import { openWorkerFile, readWorkers, watchWorkers } from '../../src/fleet/workers.ts';
import { realClock } from '../../src/platform/clock.ts';
import { type Self, thisProcess } from '../../src/platform/process/table.ts';
import { handClock } from '../support/clock.ts';
import { livingProcesses } from '../support/living-processes.ts';
import { anyJob, testJob } from '../support/queue-contract.ts';

function ground() {
  const runsDir = mkdtempSync(join(tmpdir(), 'factory-queue-'));
  const clock = { ...handClock(), sleep: realClock.sleep };
  return {
    runsDir,
    clock,
    queue: fleetLayout(runsDir).queue,
    open: (worker?: Self) => openFolderQueue(runsDir, { clock, worker }),
    [Symbol.dispose]: () => rmSync(runsDir, { recursive: true, force: true }),
  };
}
/** A process that has ended on this host, and one of another host. */
const endedProcess = (): Self => ({ ...thisProcess(), id: { pid: 2 ** 22 + 1, startTime: '1' } });
const elsewhere = (pid = 77): Self => ({ host: 'other', id: { pid, startTime: '5' }, pidSpace: 'other' });
const facts = { slots: 1, busy: 0, version: '1', draining: false, leaves: {} };

test('a job that a process was changing when it ended is put back', async () => {
  using it = ground();
  const queue = it.open();
  await queue.submit([{ job: testJob('a'), target: 'held' }]);
  const [name = ''] = readdirSync(it.queue.held);
  const aside = join(it.queue.aside, `${processName(endedProcess())}~1`);
  mkdirSync(aside, { recursive: true });
  renameSync(join(it.queue.held, name), join(aside, `held+${name}`));
  writeFileSync(join(aside, 'new.1'), '{"half of a');
  expect(await queue.get('a')).toEqual({ job: testJob('a'), state: 'held' });
  expect(await queue.change('a', { target: 'now' })).toMatchObject({
    kind: 'done',
    job: { state: 'waiting' },
  });
  await queue.close();
  expect(readdirSync(it.queue.aside)).toEqual([]);
});

test('a submission that a process had begun when it ended is finished by a worker, in its order', async () => {
  using it = ground();
  const worker = it.open(thisProcess());
  await worker.submit([{ job: testJob('before'), target: 'now' }]);
  const batch = join(it.queue.submitted, `${processName(endedProcess())}~1~1`);
  mkdirSync(batch);
  const text = (id: string, submitted_to: string) => JSON.stringify({ ...testJob(id), submitted_to });
  writeFileSync(join(batch, '000000.json'), text('a', 'now'));
  writeFileSync(join(batch, '000001.json'), text('b', '2030-01-01T00:00:00.000Z'));
  writeFileSync(join(it.queue.submitted, 'c.json'), text('c', 'held'));
  writeFileSync(join(it.queue.submitted, 'before.json'), text('before', 'held'));
  const none = anyJob({ leaves: new Set(['before', 'a']) });
  await worker.claim(none);
  expect(await worker.get('a')).toBeUndefined();
  it.clock.advance(6000);
  await worker.claim(none);
  expect((await worker.list()).map(({ job, state }) => [job.run_id, state])).toEqual([
    ['a', 'waiting'],
    ['before', 'waiting'],
    ['b', 'later'],
    ['c', 'held'],
  ]);
  expect(readdirSync(it.queue.submitted)).toEqual([]);
  await worker.close();
});

test('jobs in order appear together, wherever their submission was killed', async () => {
  using it = ground();
  const worker = it.open(thisProcess());
  await worker.submit([{ job: testJob('before'), target: 'now' }]);
  const batch = join(it.queue.submitted, `${processName(endedProcess())}~1~1`);
  mkdirSync(batch);
  const text = (id: string, submitted_to: string) => JSON.stringify({ ...testJob(id), submitted_to });
  writeFileSync(join(batch, '000000.json'), text('z1', 'now'));
  writeFileSync(join(batch, '000001.json'), text('z2', 'held'));
  await worker.claim(anyJob({ leaves: new Set(['before']) }));
  // Seen first with both, then killed with one on its way.
  renameSync(join(batch, '000000.json'), join(it.queue.submitted, 'z1.json'));
  it.clock.advance(6000);
  await worker.claim(anyJob({ leaves: new Set(['before', 'z1']) }));
  expect((await worker.list()).map(({ job }) => job.run_id)).toEqual(['before', 'z1', 'z2']);
  await worker.close();
});

test('a place of a label whose job has gone is free', async () => {
  using it = ground();
  const worker = it.open(thisProcess());
  const place = join(it.queue.labels, 'l~0');
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, '4+gone'), '');
  await worker.submit([{ job: testJob('a', { labels: ['l'] }), target: 'now' }]);
  expect(await worker.claim(anyJob({ mostOfLabel: { l: 1 } }))).toHaveLength(1);
  expect(readdirSync(place)).toEqual(['5+a']);
  await worker.finish('a');
  expect(readdirSync(place)).toEqual(['6']);
  await worker.close();
});

test('a worker of another host is dead after a minute without a heartbeat, and changes nothing when it wakes', async () => {
  using it = ground();
  const far = elsewhere();
  const frozen = it.open(far);
  const file = openWorkerFile(it.runsDir, far, it.clock);
  const worker = it.open(thisProcess());
  await frozen.submit([{ job: testJob('a'), target: 'now' }]);
  await frozen.submit([{ job: testJob('b'), target: 'now' }]);
  await frozen.claim(anyJob({ most: 2 }));
  for (let beats = 0; beats < 6; beats++) {
    file.write(facts);
    it.clock.advance(50_000);
    expect(await worker.takeOver(anyJob({ most: 2 }))).toEqual([]);
  }
  it.clock.advance(59_000);
  expect(await worker.takeOver(anyJob())).toEqual([]);
  it.clock.advance(2000);
  expect(await worker.takeOver(anyJob())).toMatchObject([{ job: { run_id: 'a' }, from: processName(far) }]);
  // Of both, though only one was taken: the folder is not its own any more.
  expect(await frozen.extend(['a', 'b'])).toEqual(['a', 'b']);
  await frozen.delay(testJob('a'), 'held');
  await frozen.finish('b');
  expect(await worker.get('a')).toMatchObject({ state: 'running', worker: processName(thisProcess()) });
  expect(await worker.takeOver(anyJob())).toMatchObject([{ job: { run_id: 'b' } }]);
  await frozen.submit([{ job: testJob('c'), target: 'now' }]);
  expect(await frozen.claim(anyJob())).toMatchObject([{ job: { run_id: 'c' } }]);
  expect(await frozen.extend(['c'])).toEqual([]);
  await frozen.close();
  await worker.close();
});

test('a worker that leaves thousands of runs to others is no dead one', () => {
  using it = ground();
  const far = elsewhere();
  const file = openWorkerFile(it.runsDir, far, it.clock);
  const why = 'the key of its holdout scenarios is not here'.padEnd(500, '.');
  const leaves = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`run-${at}`, why]));
  const workers = watchWorkers(it.runsDir, it.clock);
  for (let beats = 0; beats < 3; beats++) {
    file.write({ ...facts, leaves });
    it.clock.advance(50_000);
    expect(workers.standingOf(processName(far))).toBe(beats === 0 ? 'unknown' : 'alive');
  }
});

test('a job of a dead worker can be removed though no worker lives', async () => {
  using it = ground();
  const dead = it.open(endedProcess());
  await dead.submit([{ job: testJob('a'), target: 'now' }]);
  await dead.claim(anyJob());
  const queue = it.open();
  expect(await queue.cancel('a')).toMatchObject({ kind: 'done' });
  expect(await queue.list()).toEqual([]);
  await queue.close();
});

test('workers are told apart by process, host and namespace; files of dead ones are removed', async () => {
  using it = ground();
  await using processes = livingProcesses();
  const alive = openWorkerFile(it.runsDir, processes.self('alive'), it.clock);
  const dying = openWorkerFile(it.runsDir, processes.self('dying'), it.clock);
  const far = openWorkerFile(it.runsDir, elsewhere(), it.clock);
  const all = [alive, dying, far];
  for (const file of all) file.write({ ...facts, labels: ['gpu'], leaves: { r1: 'no key' } });
  const watched = watchWorkers(it.runsDir, it.clock);
  const standings = (from: { readonly name: string; readonly standing: string }[]) =>
    all.map(({ name }) => from.find((one) => one.name === name)?.standing);
  expect(standings([...watched.read()])).toEqual(['alive', 'alive', 'unknown']);
  expect(watched.read().find(({ name }) => name === far.name)).toMatchObject({
    host: 'other',
    heartbeat: 1,
    labels: ['gpu'],
    leaves: { r1: 'no key' },
  });
  await processes.kill('dying');
  far.write(facts);
  expect(standings([...watched.read()])).toEqual(['alive', 'dead', 'alive']);
  expect(standings([...readWorkers(it.runsDir, it.clock)])).toEqual(['alive', 'dead', 'unknown']);
  const worker = it.open(thisProcess());
  await worker.claim(anyJob());
  expect(standings([...readWorkers(it.runsDir, it.clock)])).toEqual(['alive', undefined, 'unknown']);
  alive.remove();
  it.clock.advance(61_000);
  expect(standings([...watched.read()])).toEqual([undefined, undefined, 'dead']);
  await worker.close();
});

test('of a folder that cannot be written the jobs are listed; a change says which file it could not write', async () => {
  using it = ground();
  const queue = it.open();
  await queue.submit([{ job: testJob('a'), target: 'now' }]);
  await queue.close();
  rmSync(it.queue.aside, { recursive: true, force: true });
  writeFileSync(it.queue.aside, '');
  expect(await queue.list()).toHaveLength(1);
  await expect(queue.change('a', { priority: 1 })).rejects.toThrow(it.queue.aside);
  await expect(queue.submit([{ job: testJob('b'), target: 'now' }])).rejects.toThrow(it.queue.aside);
  expect(await queue.list()).toHaveLength(1);
});

test('a job that a disk keeps a living process from changing, taking or giving a place is there when the disk works again', async () => {
  using it = ground();
  const worker = it.open(thisProcess());
  await worker.submit([{ job: testJob('a', { labels: ['l'] }), target: 'held' }]);
  // In place of folders: no file can be made there.
  const broken = async (path: string, call: () => Promise<unknown>) => {
    rmSync(path, { recursive: true, force: true });
    writeFileSync(path, '');
    await expect(call()).rejects.toThrow(path);
    rmSync(path);
  };
  await broken(it.queue.wait, () => worker.change('a', { target: 'now' }));
  expect(await worker.get('a')).toMatchObject({ state: 'held' });
  expect(await worker.change('a', { target: 'now' })).toMatchObject({ kind: 'done' });

  const request = anyJob({ mostOfLabel: { l: 1 } });
  await broken(it.queue.labels, () => worker.claim(request));
  expect(await worker.get('a')).toMatchObject({ state: 'waiting' });
  expect((await worker.claim(request)).map(({ job }) => job.run_id)).toEqual(['a']);
  await worker.close();
});
