/** Changes of a pipeline while branches are open. */
import { expect, test } from 'vitest';
import { changedFork } from '../../src/app/run/open-forks.ts';
import type { Fork } from '../../src/core/records/fork.ts';
import { freshState, graphOf } from '../support/graph.ts';

const text = `
  start [shape=Mdiamond]
  fan [shape=component]
  a [shape=parallelogram]
  a2 [shape=parallelogram]
  b [shape=parallelogram]
  join [shape=tripleoctagon]
  done [shape=Msquare]
  start -> fan
  fan -> a
  fan -> b
  a -> a2 -> join
  b -> join -> done
`;
const { ended: _, ...state } = freshState('fan');
const at = (next_node: string) => ({ ...state, snapshot: 's', next_node, nodes: [] });
const fork: Fork = {
  ...{ node: 'fan', join: 'join', base: 's', step: 2 },
  branches: { a: at('a2'), b: at('b') },
};

test.for([
  ['nothing', text, undefined],
  ['another command', `${text} a2 [tool_command="x"]`, undefined],
  [
    'a node before the join',
    text.replace('a -> a2 -> join', 'a -> a2 -> a3 -> join; a3 [shape=parallelogram]'),
    undefined,
  ],
  [
    'another join',
    text
      .replace('join -> done', 'join -> end2 -> done; end2 [shape=tripleoctagon]')
      .replace('a2 -> join', 'a2 -> end2')
      .replace('b -> join', 'b -> end2; start -> join'),
    'its branches meet in "end2" and not in "join"',
  ],
  ['a branch more', `${text} c [shape=parallelogram]; fan -> c -> join`, 'it has another branch "c"'],
  ['a branch less', text.replace('fan -> b', 'start -> b'), 'it has no branch "b" any more'],
  [
    'the next node in another branch',
    text.replace('a -> a2 -> join', 'a -> join; b -> a2 -> join'),
    'the branch "a" continues with "a2", which is not in it any more',
  ],
] as const)('%s', ([, now, what]) => {
  const changed = changedFork(graphOf(text), graphOf(now), { fork });
  expect(changed?.what).toBe(what);
});
