/** A process that takes jobs from a queue in PostgreSQL, for tests that kill it: `postgres-worker.ts CWD URL NAME`. Each job is a
 *  file that only one process may have open, as the lock of a run; its work is a line in it. */
import { appendFileSync, existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import { openPostgresQueue } from '../../src/fleet/postgres-queue.ts';
import { realClock } from '../../src/platform/clock.ts';

const [, , cwd = '', url = '', worker = ''] = process.argv;
const slots = 3;
const work = join(cwd, 'work');
/** As a service that is started again while the server is not there yet. */
async function open(): Promise<JobQueue> {
  const opened = await openPostgresQueue(join(cwd, '.factory/runs'), url, { cwd, clock: realClock, worker });
  if (!('problems' in opened)) return opened;
  await wait(500);
  return open();
}
const queue = await open();
const busy = new Map<string, Promise<void>>();
const note = (text: string) => appendFileSync(join(cwd, 'notes'), `${Date.now()} ${text}\n`);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** As the lock of a run: a living owner is waited for, a dead one's is taken. */
async function lock(path: string, id: string): Promise<void> {
  for (;;) {
    const own = `${path}.${process.pid}`;
    writeFileSync(own, `${process.pid}`);
    try {
      linkSync(own, path);
      return;
    } catch {
      const owner = Number(existsSync(path) ? readFileSync(path, 'utf8') : '0');
      if (owner === 0 || !isAlive(owner)) rmSync(path, { force: true });
      else {
        note(`waits ${id}`);
        await wait(200);
      }
    } finally {
      rmSync(own);
    }
  }
}

async function run(id: string, from: string): Promise<void> {
  await lock(join(work, `${id}.lock`), id);
  note(`${from === '' ? 'begins' : 'continues'} ${id} ${worker} ${from}`);
  await wait(100 + Math.random() * 400);
  if (!existsSync(join(work, `${id}.done`))) {
    note(`effect ${id}`);
    writeFileSync(join(work, `${id}.done`), '');
  }
  rmSync(join(work, `${id}.lock`), { force: true });
  await queue.finish(id);
  busy.delete(id);
}

for (;;) {
  const request = () => ({ most: slots - busy.size, mostOfLabel: { two: 2 }, leaves: new Set<string>() });
  const begin = (id: string, from: string) => void busy.set(id, run(id, from));
  for (const { job, from } of await queue.takeOver(request())) begin(job.run_id, from);
  for (const { job } of await queue.claim(request())) begin(job.run_id, '');
  await queue.extend([...busy.keys()]);
  await wait(100);
}
