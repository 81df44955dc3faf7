/** Processes that work on a queue in a folder end anywhere. FACTORY_QUEUE_KILLS sets how many workers are killed in the loop, and
 *  with `all` in FACTORY_QUEUE_POINTS every operation gets every fault. */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../support/cli.ts';
import type { Action } from './faults/plan.ts';
import { afterFreeze, buildActor, killLoop, storyOperations, wrongAfter } from './queue-kills.ts';

const known = process.platform === 'linux';
const everyPoint = process.env['FACTORY_QUEUE_POINTS'] === 'all';
const kills = Number(process.env['FACTORY_QUEUE_KILLS'] ?? 4);
let actor: string;
let operations: readonly string[] = [];

beforeAll(async () => {
  if (!known) return;
  actor = await buildActor(root);
  operations = storyOperations(actor);
}, 60_000);
afterAll(() => rmSync(actor, { force: true }));

describe.skipIf(!known)('no job is lost, doubled or half there although', () => {
  const rows: readonly (readonly [string, Action, number])[] = [
    ['its process was killed before an operation', 'kill', 6],
    ['its process was killed after an operation', 'after', 3],
    ['the power failed', 'power', 5],
    ['the disk failed once', 'error', 3],
    ['the disk became full', 'full', 3],
  ];
  const patience = { timeout: everyPoint ? 1_200_000 : 60_000 };
  test.for(rows)('%s', patience, async ([, action, samples]) => {
    const every = everyPoint ? 1 : operations.length / samples;
    for (let at = 1; at <= operations.length; at += every) {
      const k = Math.floor(at);
      const wrong = await wrongAfter(actor, k, action);
      expect(wrong, `${action} at ${k}: ${operations[k - 1]}\n${wrong.join('\n')}`).toEqual([]);
    }
  });

  test(
    'workers are killed again and again',
    async () => {
      const { wrong } = await killLoop(actor, { kills, jobs: 8 + 2 * kills, workers: 3, seed: 7 });
      expect(wrong, wrong.join('\n')).toEqual([]);
    },
    60_000 + kills * 5000,
  );
});

test.skipIf(!known)(
  'a worker that wakes after two minutes has lost its jobs, learns it, and changes nothing',
  async () => {
    expect(await afterFreeze(actor)).toEqual({
      early: [],
      late: ['a'],
      lost: 'a,b',
      left: [
        ['a', 'running'],
        ['b', 'running'],
      ],
      rest: ['b'],
    });
  },
  30_000,
);
