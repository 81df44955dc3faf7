/** A system that reports only whether a process id exists: no /proc, and no `ps` with start times. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { LockFile } from '../../src/run/lock-file.ts';

const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
const path = process.env['PATH'];
const empty = mkdtempSync(join(tmpdir(), 'factory-no-ps-'));
let proc: typeof import('../../src/platform/process/table.ts');
let maker: typeof import('../../src/platform/files/temporary.ts');
let judge: typeof import('../../src/run/lock-file.ts').judge;

beforeAll(async () => {
  Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
  process.env['PATH'] = empty;
  vi.resetModules();
  proc = await import('../../src/platform/process/table.ts');
  maker = await import('../../src/platform/files/temporary.ts');
  ({ judge } = await import('../../src/run/lock-file.ts'));
});
afterAll(() => {
  Object.defineProperty(process, 'platform', platform);
  process.env['PATH'] = path;
  vi.resetModules();
  rmSync(empty, { recursive: true });
});

/** The id of a process that has ended. */
const goneId = () => ({ pid: spawnSync('/bin/sh', ['-c', ':']).pid, startTime: '' });

test('an existing process counts as alive, and a missing one as ended', () => {
  const child = spawn('/bin/sleep', ['1000'], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const id = proc.processId(child.pid ?? 0);
  expect(id).toEqual({ pid: child.pid, startTime: '' });
  expect(proc.isAlive({ pid: child.pid ?? 0, startTime: '' })).toBe(true);
  expect(proc.isAlive(goneId())).toBe(false);
  expect(proc.processId(goneId().pid)).toBeUndefined();
});

test('temporary files of an existing process are not removed', async () => {
  expect(await maker.isAbandoned(maker.creatorTag(), empty)).toBe(false);
});

test('a run is taken from an existing owner only after its silence, and from an ended one at once', () => {
  const self = proc.thisProcess();
  const now = Date.now();
  const lock = (pid: number, silentMs: number): LockFile => ({
    schema_version: 1,
    epoch: 1,
    pid,
    start_time: '',
    pid_space: self.pidSpace,
    host: self.host,
    since: new Date(now).toISOString(),
    heartbeat: new Date(now - silentMs).toISOString(),
    released: null,
  });
  const judged = (of: LockFile, takeOver = false) =>
    judge({ kind: 'read', lock: of }, { self, now, staleAfterMs: 60_000, takeOver, ownedBy: 'held by' });
  expect(judged(lock(process.pid, 10_000))).toMatchObject({
    kind: 'held',
    why: expect.stringContaining('its last heartbeat was 10 s ago'),
  });
  expect(judged(lock(process.pid, 61_000))).toMatchObject({ kind: 'ours', before: { how: 'silent' } });
  expect(judged(lock(process.pid, 0), true)).toMatchObject({ kind: 'ours', before: { how: 'silent' } });
  expect(judged(lock(goneId().pid, 0))).toMatchObject({ kind: 'ours', before: { how: 'gone' } });
});
