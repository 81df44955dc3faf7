/** The button that stands out does what the card proposes first. */
import { expect, test } from 'vitest';
import type { RunRow } from '../../../src/app/inspect/run-row.ts';
import { firstAct, forkPlace } from '../../../src/web/page/text/first-act.ts';

const acts: RunRow['acts'] = ['resume', 'fork', 'deliver'];
type Kind = NonNullable<RunRow['action']>['kind'];

test.for<readonly [kind: Kind, command: string, act: string | null, at?: string]>([
  ['continue', 'f resume r1', 'resume'],
  ['continue', 'f resume r1 --wait', 'resume'],
  ['continue', 'f resume r1 --max-steps 6', null],
  ['continue', 'f resume r1 --live', null],
  ['edit', 'f resume r1 --accept-changes', null],
  ['edit', 'f fork r1 --at check --before --pipeline p.dot', null],
  ['fork', 'f fork r1 --at fix@2 --before --note TEXT', 'fork', 'fix@2'],
  ['fork', 'f fork r1 --at check --before', 'fork'],
  ['deliver', 'f deliver r1 --to ../r1', 'deliver'],
  ['start', 'f run p.dot', null],
  ['look', 'f audit r1', null],
  ['answer', 'f answer r1', null],
])('%s, %s: the button is %s', ([kind, command, act, at]) => {
  const action = { kind, command, words: 'Do it' };
  expect(firstAct({ action, acts })).toBe(act);
  expect(firstAct({ action, acts: [] })).toBe(null);
  expect(forkPlace({ action }).at).toBe(at);
});

test('without an action no button stands out', () => {
  expect(firstAct({ action: null, acts })).toBe(null);
});
