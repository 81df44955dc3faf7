import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { openReleases } from '../../src/keeper/followers.ts';
import { realClock } from '../../src/platform/clock.ts';
import { testJob } from '../support/queue-contract.ts';

test('a job that was killed on its way out of hold is due, and one that a person holds is not', async () => {
  const runsDir = mkdtempSync(join(tmpdir(), 'factory-queue-'));
  const queue = openFolderQueue(runsDir, { clock: realClock });
  const reason = { kind: 'person', text: 'held by ada', at: new Date(0).toISOString() } as const;
  await queue.submit([
    { job: testJob('a', { after: 'z' }), target: 'held' },
    { job: testJob('b', { reason }), target: 'held' },
  ]);
  const releases = openReleases(queue, { runsDir, clock: realClock });
  await releases.look();
  expect((await queue.list()).map(({ job, state }) => [job.run_id, state])).toEqual([
    ['a', 'waiting'],
    ['b', 'held'],
  ]);
  releases.close();
  await queue.close();
  rmSync(runsDir, { recursive: true, force: true });
});
