/** The jobs of a worker whose engines are pretended. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { JobTarget } from '../../src/core/contracts/job-queue.ts';
import { layout } from '../../src/core/records/layout.ts';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { KeptJobs } from '../../src/keeper/kept-jobs.ts';
import { realClock } from '../../src/platform/clock.ts';
import { thisProcess } from '../../src/platform/process/table.ts';
import { anyJob, testJob } from '../support/queue-contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'factory-kept-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function worker() {
  const runsDir = mkdtempSync(join(folder, 'runs-'));
  const queue = openFolderQueue(runsDir, { clock: realClock, worker: thisProcess() });
  const puts: JobTarget[] = [];
  const fails = { next: 0 };
  const watched = {
    ...queue,
    async delay(...[job, target]: Parameters<typeof queue.delay>) {
      if (fails.next-- > 0) throw new Error('the disk is away');
      puts.push(target);
      await queue.delay(job, target);
    },
  };
  const woken = { now: () => {} };
  const jobs = new KeptJobs(watched, {
    ...{ runsDir, notify: undefined, clock: realClock, env: {}, log: () => {}, stop: async () => false },
    start: async () => ({ kind: 'ended', code: 130, signal: null, stdout: '', stderr: '' }),
    needsPerson: () => {},
    wake: () => woken.now(),
  });
  const job = { ...testJob('a'), request: { cwd: folder, run: ['p.dot'], resume: [] } };
  await queue.submit([{ job, target: 'now' }]);
  await queue.claim(anyJob());
  return { runsDir, queue, jobs, job, puts, fails, woken };
}

test('a job that could not be put back is put where it belonged, however often that was tried', async () => {
  const { queue, jobs, job, puts, fails, woken } = await worker();
  jobs.add(job, 'claim');
  const ended = new Promise<void>((resolve) => {
    woken.now = resolve;
  });
  await jobs.settle(false);
  await ended;
  fails.next = 9;
  for (let tries = 0; tries < 9; tries++) await expect(jobs.settle(false)).rejects.toThrow('away');
  await jobs.settle(false);
  expect(puts).toEqual(['now']);
  await queue.close();
});

test('a run that cannot be executed here is forgotten when it has left the queue', async () => {
  const { runsDir, queue, jobs } = await worker();
  for (const id of ['a', 'ended']) {
    const { journal } = layout(join(runsDir, id));
    mkdirSync(dirname(journal), { recursive: true });
    writeFileSync(journal, '{"schema_version":99}\n');
    jobs.leaves.set(id, 'it was written by another version');
  }
  await jobs.reviewLeaves();
  expect([...jobs.leaves.keys()]).toEqual(['a']);
  await queue.close();
});
