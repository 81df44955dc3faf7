import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { handClock } from '../support/clock.ts';
import { livingProcesses } from '../support/living-processes.ts';
import { keepsTheQueueContract, type TestedFleet } from '../support/queue-contract.ts';

async function folderFleet(): Promise<TestedFleet> {
  const runsDir = mkdtempSync(join(tmpdir(), 'factory-queue-'));
  const processes = livingProcesses();
  const opened: JobQueue[] = [];
  const clock = handClock();
  return {
    async open(worker) {
      const self = worker === undefined ? undefined : processes.self(worker);
      const queue = openFolderQueue(runsDir, { clock: { ...clock, sleep: realClock.sleep }, worker: self });
      opened.push(queue);
      return queue;
    },
    kill: (worker) => processes.kill(worker),
    now: () => clock.now(),
    async until(at) {
      clock.advance(at.getTime() - clock.now().getTime());
    },
    patienceMs: 3000,
    async [Symbol.asyncDispose]() {
      for (const queue of opened) await queue.close();
      await processes[Symbol.asyncDispose]();
      rmSync(runsDir, { recursive: true, force: true });
    },
  };
}

keepsTheQueueContract('the queue in a folder', folderFleet);
