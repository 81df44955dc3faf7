/** Which executions the recorded run answers. */
import { expect, test } from 'vitest';
import { failed, succeeded } from '../../../src/core/outcome.ts';
import { replay } from '../../../src/engine/layers/replay.ts';
import type { Replay } from '../../../src/run/answers.ts';
import { temp } from '../../platform/temp.ts';
import { rig } from './rig.ts';

const recorded = { outcome: failed('as recorded', 'product'), replayed: 3 };
const live = succeeded();

test.for<[string, string, object | undefined, object, readonly string[]]>([
  ['a recorded tool', 'shape=parallelogram', recorded, recorded.outcome, []],
  ['a tool that is not as recorded', 'shape=parallelogram', { unlike: 'other files' }, live, ['ReplayRan']],
  ['a tool after the record has ended', 'shape=parallelogram', undefined, live, []],
  ['an agent, whose calls are answered one by one', 'shape=box', recorded, live, []],
  ['a node that does nothing', 'shape=diamond', recorded, live, []],
])('%s', async ([, attributes, answer, outcome, events]) => {
  await using it = await temp();
  const answers = { answer: async () => answer, notesGivenBy: () => [] } as unknown as Replay;
  const node = await rig(it.dir, attributes, { run: { replay: answers } });
  expect((await node.through(replay, live)).outcome).toBe(outcome);
  expect(node.events.map(({ type }) => type)).toEqual(events);
  await node.close();
});
