/** What a stage leaves behind is found by several marks. Each is enough by itself, and none reaches a stranger. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import type { ProcessId } from '../../../src/core/contracts/process.ts';
import { askOthers, endAll, sweep } from '../../../src/platform/process/sweep.ts';
import { isAlive, processFacts, processId } from '../../../src/platform/process/table.ts';
import { temp } from '../temp.ts';

const linux = process.platform === 'linux';
const PATH = process.env['PATH'] ?? '';

const known = (pid: number | undefined): ProcessId => {
  const id = processId(pid ?? 0);
  if (id === undefined) throw new Error('it does exist');
  onTestFinished(() => void (isAlive(id) && process.kill(id.pid, 'SIGKILL')));
  return id;
};

/** Starts bash in a new group and session; the answer comes with the number that it prints first. */
async function bash(script: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn('bash', ['-c', script], {
    env: { PATH, ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = await once(child.stdout, 'data');
  return { child, id: known(child.pid), member: known(Number(String(line))) };
}

/** Starts a program that sleeps, and answers when it is what it shall be. */
async function sleeper(env: Readonly<Record<string, string>> = {}): Promise<[ChildProcess, ProcessId]> {
  const child = spawn('sh', ['-c', 'echo; exec sleep 1000'], {
    env: { PATH, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return [child, known(child.pid)];
}

test.runIf(linux)('its session, of a process in another group', async () => {
  const { id, member } = await bash('set -m; env -i sleep 1000 >&- & echo $!; read');
  expect(processFacts(member.pid)).toMatchObject({ group: member.pid, session: id.pid });
  await endAll({ leader: id });
  expect([isAlive(member), isAlive(id)]).toEqual([false, false]);
});

test.runIf(linux)('its parent, of a process in another session with another environment', async () => {
  const mark = randomUUID();
  const { id, member } = await bash('setsid env -i sleep 1000 >&- & echo $!; read', { MARK: mark });
  expect(await sweep(`MARK=${mark}`)).toBe(2);
  expect([isAlive(member), isAlive(id)]).toEqual([false, false]);
});

test.runIf(linux)('a process that is older than the stage stays, though it carries the marker', async () => {
  const mark = randomUUID();
  const [, old] = await sleeper({ MARK: mark });
  // The system counts in hundredths of a second.
  let [, id] = await sleeper({ MARK: mark });
  while (Number(id.startTime) <= Number(old.startTime)) [, id] = await sleeper({ MARK: mark });
  await endAll({ leader: id, marker: `MARK=${mark}` });
  expect([isAlive(old), isAlive(id)]).toEqual([true, false]);
});

test.runIf(linux)('a process that is to be spared stays, though it carries the marker', async () => {
  const mark = randomUUID();
  const [, spared] = await sleeper({ MARK: mark });
  await sleeper({ MARK: mark });
  expect(await sweep(`MARK=${mark}`, [spared.pid])).toBe(1);
  expect(isAlive(spared)).toBe(true);
});

test.runIf(linux)('a process with the reused pid of an ended node stays, and so does its group', async () => {
  const { id, member } = await bash('sleep 1000 >&- & echo $!; read');
  const stage = { ...id, startTime: '1' };
  expect(await endAll({ leader: stage })).toBe(0);
  askOthers(stage);
  expect([isAlive(id), isAlive(member)]).toEqual([true, true]);
});

test.runIf(linux)('who watches over a group is not asked to end with it', async () => {
  const { child, id, member } = await bash('sleep 1000 >&- & echo $!; wait; echo over; read');
  askOthers(id);
  const [line] = await once(child.stdout, 'data');
  expect([String(line), isAlive(member)]).toEqual(['over\n', false]);
  await endAll({ leader: id });
});

test.runIf(linux)('the own group is never ended', async () => {
  await using it = await temp();
  const source = (name: string) =>
    JSON.stringify(join(import.meta.dirname, '../../../src/platform/process', name));
  await build({
    stdin: {
      contents: `import { endGroup } from ${source('sweep.ts')}; import { processId } from ${source('table.ts')};
        console.log(await endGroup(processId(process.pid)));`,
      resolveDir: it.dir,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: it.at('leader.mjs'),
    logLevel: 'error',
  });
  const child = spawn(process.execPath, [it.at('leader.mjs')], {
    env: { PATH },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  child.stdout.on('data', (bytes) => (said += String(bytes)));
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(said).toBe('false\n');
});
