/** Which executions come before one on the path of its branch. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { executionsOnPath } from '../../src/core/branch-path.ts';
import type { RunRecord } from '../../src/core/records/visit.ts';

type Word = string;

/** A line for each word: `fan[a,b]` opens a fork, `call[!c]` a call, `a:x` is an execution in branch a, `join<fan` a join. */
function recordsOf(words: readonly Word[]): RunRecord[] {
  return words.map((word) => {
    const [, branch, node, opened, joined] = /^(?:(\w+):)?(\w+)(?:\[(.*)\])?(?:<(\w+))?$/.exec(word) ?? [];
    const branches = opened
      ?.split(',')
      .map((id) => (id.startsWith('!') ? { id: id.slice(1), fresh: true } : { id }));
    return {
      ...{ type: 'Visit', node },
      ...(branch === undefined ? {} : { branch }),
      ...(branches === undefined ? {} : { fork: { join: 'j', branches } }),
      ...(joined === undefined ? {} : { joined }),
    } as unknown as RunRecord;
  });
}

const pathOf = (words: readonly Word[], branch?: string): string =>
  executionsOnPath(recordsOf(words), branch)
    .map(({ visit }) => visit.node)
    .join(' ');

test.for<readonly [string, string | undefined, string]>([
  ['s a', undefined, 's a'],
  ['s fan[a,b] b:b a:a', 'a', 's fan a'],
  ['s fan[a,b] b:b a:a', undefined, 's fan'],
  ['s fan[a,b] b:b a:a j<fan after', undefined, 's fan a b j after'],
  // Around a loop: what has met in the join is on the path of the next round.
  ['s fan[a,b] b:b a:a j<fan fan[a,b] b:b2 a:a2', 'b', 's fan a b j fan b2'],
  // A fork in a branch, and a branch that was cancelled in the midst of its own.
  ['s fan[a,b] a:in[x,y] y:y b:b x:x', 'x', 's fan in x'],
  ['s fan[a,b] a:in[x,y] y:y b:b x:x a:ij<in a:a2', 'a', 's fan in x y ij a2'],
  ['s fan[a,b] a:in[x,y] y:y b:b j<fan', undefined, 's fan in y b j'],
  // A pipeline that is called does not see its caller; its caller sees what it did.
  ['s call[!c] c:c', 'c', 'c'],
  ['s fan[a,b] a:call[!c] c:in[x,y] x:x y:y', 'x', 'in x'],
  ['s call[!c] c:c c:c2 e<call after', undefined, 's call c c2 e after'],
])('%s: in branch %s %s', ([lines, branch, path]) => {
  expect(pathOf(lines.split(' '), branch)).toBe(path);
});

/** Any order of the lines of branches in which those of each keep theirs. */
const merged = (lists: readonly (readonly Word[])[]): fc.Arbitrary<Word[]> =>
  fc.infiniteStream(fc.nat()).map((choices) => {
    const left = lists.map((list) => [...list]);
    const all: Word[] = [];
    for (const choice of choices) {
      const open = left.filter((list) => list.length > 0);
      if (open.length === 0) break;
      all.push(open[choice % open.length]?.shift() ?? '');
    }
    return all;
  });

test('the order in which branches end changes no path', () => {
  const branches = [
    ['a:a', 'a:in[x,y]', 'x:x', 'a:ij<in', 'a:a2'],
    ['b:b', 'b:b2'],
    ['c:c', 'c:c2', 'c:c3'],
  ];
  fc.assert(
    fc.property(merged(branches), (lines) => {
      const all = ['s', 'fan[a,b,c]', ...lines];
      expect(pathOf(all, 'a')).toBe('s fan a in x ij a2');
      expect(pathOf(all, 'c')).toBe('s fan c c2 c3');
      expect(pathOf([...all, 'j<fan'])).toBe('s fan a in x ij a2 b b2 c c2 c3 j');
    }),
  );
});
