/** A worker whose jobs leave marks: two workers that have a job at the same time, more jobs of a label than its cap and a job that
 *  comes back after its end are seen. Jobs whose run ids begin with `l` have the label `l`. */
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Job } from '../../src/core/records/job.ts';
import { openQueue } from '../../src/fleet/open-queue.ts';
import { openWorkerFile } from '../../src/fleet/workers.ts';
import { realClock } from '../../src/platform/clock.ts';
import { isAlive as isProcessAlive, processId, thisProcess } from '../../src/platform/process/table.ts';
import { random } from './faults/plan.ts';

export const labelCap = 2;
/** How often a job is taken before it is finished. */
export const turns = 3;

/** `ground` has the folders `has`, `steps` and `ended`. */
export async function work(runsDir: string, ground: string, seed: number): Promise<void> {
  const chance = random(seed);
  const worker = thisProcess();
  const db = process.env['CRASH_DB'];
  const queue = await openQueue(runsDir, { clock: realClock, env: {}, worker, db });
  if ('problems' in queue) throw new Error(JSON.stringify(queue.problems));
  const file = openWorkerFile(runsDir, worker, realClock);
  const request = { most: 2, mostOfLabel: { l: labelCap }, leaves: new Set<string>() };
  const facts = { slots: 2, busy: 0, version: 'test', draining: false, key_ids: [], leaves: {} };
  while (!existsSync(join(ground, 'stop'))) {
    file.write(facts);
    const jobs = [...(await queue.takeOver(request)), ...(await queue.claim(request))];
    await Promise.all(jobs.map(({ job }) => doJob(queue, job, ground, chance)));
    if (jobs.length === 0) await realClock.sleep(5);
  }
  await queue.close();
}

/** A worker of another host that takes all jobs, prints which it has no longer, and tries to put them back. */
export async function stranger(runsDir: string): Promise<void> {
  const worker = { ...thisProcess(), host: 'another' };
  const queue = await openQueue(runsDir, { clock: realClock, env: {}, worker });
  if ('problems' in queue) throw new Error(JSON.stringify(queue.problems));
  const jobs = await queue.claim({ most: 9, mostOfLabel: {}, leaves: new Set() });
  writeSync(1, 'claimed\n');
  const ids = jobs.map(({ job }) => job.run_id);
  let lost: readonly string[] = [];
  while (lost.length === 0) {
    await realClock.sleep(10);
    lost = await queue.extend(ids);
  }
  for (const { job } of jobs) await queue.delay(job, 'now');
  for (const id of ids) await queue.finish(id);
  writeSync(1, `${lost.join()}\n`);
  await queue.close();
}

async function doJob(queue: JobQueue, job: Job, ground: string, chance: () => number): Promise<void> {
  const { run_id } = job;
  const mark = join(ground, 'has', run_id);
  const wrong = (what: string) =>
    appendFileSync(join(ground, 'wrong'), `${process.pid} ${run_id}: ${what}\n`);
  const owner = ownerIn(mark);
  if (owner !== undefined && isAlive(owner)) wrong(`process ${owner} has it`);
  if (existsSync(join(ground, 'ended', run_id))) wrong('it had ended');
  writeFileSync(mark, String(process.pid));
  const ofLabel = readdirSync(join(ground, 'has'))
    .filter((name) => name.startsWith('l'))
    .filter((name) => isAlive(ownerIn(join(ground, 'has', name)) ?? 0));
  if (ofLabel.length > labelCap) wrong(`${ofLabel.join()} run at once`);
  await realClock.sleep(chance() * 8);
  const steps = readdirSync(join(ground, 'steps')).filter((name) => name.startsWith(`${run_id}.`)).length + 1;
  writeFileSync(join(ground, 'steps', `${run_id}.${steps}`), '');
  await realClock.sleep(chance() * 4);
  if ((await queue.extend([run_id])).length > 0) wrong('it was lost while its worker lived');
  rmSync(mark);
  if (steps >= turns) {
    await queue.finish(run_id);
    writeFileSync(join(ground, 'ended', run_id), '');
  } else {
    const dueAt = new Date(realClock.now().getTime() + chance() * 60).toISOString();
    await queue.delay({ ...job, priority: Math.floor(chance() * 5) }, chance() < 0.5 ? 'now' : { dueAt });
  }
}

/** Undefined where no process has it, or one is just writing it. */
function ownerIn(mark: string): number | undefined {
  try {
    return Number(readFileSync(mark, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** A killed process that was not collected yet is none. */
function isAlive(pid: number): boolean {
  const id = processId(pid);
  return id !== undefined && isProcessAlive(id);
}
