/** A session as the page holds it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Session, ShownItem } from '../../../src/app/inspect/session-shape.ts';
import { blocksOf, itemOfHash, nextFrom, unsaid, withLater } from '../../../src/web/page/text/session.ts';

type State = NonNullable<ShownItem['call']>['state'];

/** `c` a completed call, `r` one that runs, any other letter a text. */
const item = (letter: string, number: number): ShownItem => ({
  ...{ number, turn: 1 + Math.floor(number / 2), at: null, text: letter, cut: false },
  ...('cr'.includes(letter)
    ? { kind: 'call', call: callIn(letter === 'r' ? 'running' : 'completed') }
    : { kind: 'text', call: null }),
});
const callIn = (state: State) => ({
  ...{ name: 'sh', arguments: '', output: '', output_lines: 0, ms: null },
  state,
});

function session(letters: string, from = 0, source: Session['source'] = 'live'): Session {
  const items = [...letters].map(item);
  const turns = [...new Set(items.map(({ turn }) => turn))].map((number) => ({
    ...{ number, at: null, ms: null, first_ms: null, usage: null, cost_usd: null },
  }));
  const least = items[from]?.turn ?? turns.length;
  return {
    ...{ schema_version: 1, node: 'a', visit: 1, state: 'running', attempts: 1, source },
    ...{ agent: 'codex', model: null, first_ms: null, usage: null, cost_usd: null, withheld: false },
    counts: { turns: turns.length, calls: 0, failed: 0, items: items.length },
    turns: turns.filter(({ number }) => number >= least),
    items: items.slice(from),
  };
}

test('parts that are read as a session grows give the session', () => {
  const letters = fc.string({ unit: fc.constantFrom('c', 'r', 't'), maxLength: 12 });
  fc.assert(
    fc.property(letters, letters, (before, added) => {
      const known = session(before);
      // Calls end, and more comes.
      const now = before.replaceAll('r', 'c') + added;
      const from = nextFrom(known);
      expect(withLater(known, session(now, from))).toEqual(session(now));
    }),
  );
});

test('what is made from another record is another session', () => {
  expect(withLater(session('tt'), session('t', 0, 'events'))).toEqual(session('t', 0, 'events'));
});

test.for<readonly [string, number]>([
  ['', 0],
  ['tc', 2],
  ['trc', 1],
])('of "%s" items may be new from %i on', ([letters, from]) => {
  expect(nextFrom(session(letters))).toBe(from);
});

test('blocks have one length, the last one the rest', () => {
  expect(blocksOf([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(blocksOf([], 2)).toEqual([]);
});

test.for<readonly [string | undefined, string, string]>([
  [undefined, '', ''],
  ['so far', '', 'so far'],
  ['hello\n\nand on', 'hello', 'and on'],
  ['hello', 'hello', ''],
  ['only the newest part', 'hello', ''],
])('of the streamed text %j after the text "%s" "%s" is not said yet', ([live, text, rest]) => {
  const items = text === '' ? [] : [{ ...item('t', 0), text }];
  expect(unsaid(live, items, 'text')).toBe(rest);
});

test.for<readonly [string, number | undefined]>([
  ['#S12', 12],
  ['#L12', undefined],
  ['', undefined],
])('"%s" is the item %s', ([hash, number]) => {
  expect(itemOfHash(hash)).toBe(number);
});
