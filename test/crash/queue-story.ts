/** Every call of a queue once, and what is to be found in the queue after each. */
import { writeSync } from 'node:fs';
import type { JobQueue } from '../../src/core/contracts/job-queue.ts';
import type { Job } from '../../src/core/records/job.ts';
import { openFolderQueue } from '../../src/fleet/folder-queue.ts';
import { realClock } from '../../src/platform/clock.ts';
import { thisProcess } from '../../src/platform/process/table.ts';

export const storyJob = (run_id: string, labels: readonly string[] = []): Job => ({
  schema_version: 1,
  run_id,
  title: run_id,
  priority: 0,
  submitted_at: '2026-01-01T00:00:00.000Z',
  submitted_by: 'a story',
  labels,
  request: { cwd: '/tmp', run: ['build.dot'], resume: [] },
});

type States = Readonly<Record<string, string>>;
type Step = {
  readonly act: (queue: JobQueue) => Promise<unknown>;
  /** The state of each job that is in the queue afterwards. */
  readonly states: States;
  /** Jobs of which a power cut after the call takes nothing. */
  readonly lasting: readonly string[];
};

const caps = { most: 2, mostOfLabel: { l: 1 }, leaves: new Set<string>() };
const now = (job: Job) => ({ job, target: 'now' }) as const;
const reason = { kind: 'quota', text: 'used up', at: '2026-01-01T00:00:00.000Z' } as const;

export const steps: readonly Step[] = [
  {
    act: (queue) => queue.submit([now(storyJob('a', ['l'])), now(storyJob('b', ['l'])), now(storyJob('c'))]),
    states: { a: 'waiting', b: 'waiting', c: 'waiting' },
    lasting: ['a', 'b', 'c'],
  },
  {
    act: (queue) => queue.submit([{ job: storyJob('d'), target: 'held' }]),
    states: { a: 'waiting', b: 'waiting', c: 'waiting', d: 'held' },
    lasting: ['d'],
  },
  {
    act: (queue) => queue.claim(caps),
    states: { a: 'running', b: 'waiting', c: 'running', d: 'held' },
    lasting: [],
  },
  {
    act: (queue) => queue.finish('a'),
    states: { b: 'waiting', c: 'running', d: 'held' },
    lasting: [],
  },
  {
    act: (queue) => queue.claim(caps),
    states: { b: 'running', c: 'running', d: 'held' },
    lasting: [],
  },
  {
    act: (queue) => queue.delay({ ...storyJob('b', ['l']), reason }, { dueAt: '2099-01-01T00:00:00.000Z' }),
    states: { b: 'later', c: 'running', d: 'held' },
    lasting: ['b'],
  },
  {
    act: (queue) => queue.change('d', { priority: 1, target: 'now' }),
    states: { b: 'later', c: 'running', d: 'waiting' },
    lasting: ['d'],
  },
  {
    act: (queue) => queue.claim(caps),
    states: { b: 'later', c: 'running', d: 'running' },
    lasting: [],
  },
  {
    act: (queue) => queue.delay(storyJob('d'), 'now'),
    states: { b: 'later', c: 'running', d: 'waiting' },
    lasting: ['d'],
  },
  { act: (queue) => queue.cancel('d'), states: { b: 'later', c: 'running' }, lasting: [] },
];

/** Prints a line after each call. */
export async function story(runsDir: string): Promise<void> {
  const queue = openFolderQueue(runsDir, { clock: realClock, worker: thisProcess() });
  for (const { act } of steps) {
    await act(queue);
    writeSync(1, 'done\n');
  }
}
