/** Processes on a system that has no /proc and names no start of itself (macOS): all that is known is what `ps` says. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';

const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
let proc: typeof import('../../src/platform/process/table.ts');
let sweep: typeof import('../../src/platform/process/sweep.ts');

beforeAll(async () => {
  Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
  vi.resetModules();
  proc = await import('../../src/platform/process/table.ts');
  sweep = await import('../../src/platform/process/sweep.ts');
});
afterAll(() => {
  Object.defineProperty(process, 'platform', platform);
  vi.resetModules();
});

/** A group whose leader has ended; its one member lives on. */
async function leaderless() {
  const leader = spawn('sh', ['-c', 'sleep 1000 >/dev/null & echo $!; read end'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = await once(leader.stdout, 'data');
  const id = proc.processId(leader.pid ?? 0);
  const member = proc.processId(Number(String(line)));
  leader.stdin.end();
  await once(leader, 'exit');
  if (id === undefined || member === undefined) throw new Error('both did exist');
  onTestFinished(() => void (proc.isAlive(member) && process.kill(member.pid, 'SIGKILL')));
  return { id, member };
}

test('a group without its leader is ended', async () => {
  const { id, member } = await leaderless();
  expect(proc.hasProc).toBe(false);
  expect(await sweep.endGroup(id)).toBe(true);
  expect(proc.isAlive(member)).toBe(false);
});

test('all that a stage leaves behind there is its group, which is ended and waited for', async () => {
  const { id, member } = await leaderless();
  expect(await sweep.endAll({ leader: id })).toBe(0);
  expect(proc.isAlive(member)).toBe(false);
});

test.for([
  ['of before the system was started', 'Mon Jan  1 00:00:00 2001'],
  ['of which no start is known', ''],
] as const)('a group whose number was that of a stage %s is left alone', async ([, startTime]) => {
  const { id, member } = await leaderless();
  expect(await sweep.endGroup({ ...id, startTime })).toBe(false);
  expect(proc.isAlive(member)).toBe(true);
});

test('a group is left alone, and not waited for, when its number has gone to another process', async () => {
  const other = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void other.kill('SIGKILL'));
  const id = proc.processId(other.pid ?? 0);
  if (id === undefined) throw new Error('it does exist');
  expect(await sweep.endGroup({ ...id, startTime: 'Tue Jan  1 00:00:00 2999' })).toBe(false);
  expect(proc.isAlive(id)).toBe(true);
});

test.for([
  ['Sun Nov 22 20:54:11 2026', '2026-11-22T20:54:11Z', true],
  ['Sun Nov 22 20:54:11 2026', '2026-11-22T20:55:11Z', true],
  ['Sun Nov 22 20:54:11 2026', '2026-11-22T20:55:12Z', false],
  ['Fri Nov  6 09:00:00 2026', '2026-11-06T10:00:00Z', false],
  ['', '2026-11-22T20:54:11Z', false],
] as const)('a process of %s on a system that was started at %s: %s', ([lstart, boot, is]) => {
  expect(proc.isSince(lstart, Date.parse(boot))).toBe(is);
});
