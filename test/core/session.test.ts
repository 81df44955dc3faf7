/** Turns and calls from the lines of a session. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SessionLine } from '../../src/core/records/session.ts';
import { detailIn, sessionOf } from '../../src/core/session.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();

/** Items as `TURN kind text`, calls as `TURN name text =state output ms`. */
const told = (lines: readonly SessionLine[], isOver = true): string[] =>
  sessionOf(lines, isOver).items.map(({ turn, kind, text, call }) =>
    call === null
      ? `${turn} ${kind} ${text}`
      : `${turn} ${call.name} ${text} =${call.state} ${call.output} ${call.ms ?? '-'}`,
  );

test.for<readonly [string, readonly SessionLine[], readonly string[]]>([
  [
    'what is said belongs to the latest turn, blanks to none',
    [
      { type: 'turn' },
      { type: 'text', text: ' \n' },
      { type: 'text', text: 'a\n' },
      { type: 'turn' },
      { type: 'text', text: 'b' },
    ],
    ['1 text a', '2 text b'],
  ],
  ['a text without a turn begins one', [{ type: 'text', text: 'a' }], ['1 text a']],
  ['a note before the first turn belongs to none', [{ type: 'note', text: 'hm' }], ['0 note hm']],
  [
    'results find their calls by id, also out of order',
    [
      { type: 'call', id: 'x', name: 'sh', detail: 'one', at: at(1) },
      { type: 'call', id: 'y', name: 'sh', detail: 'two', at: at(2) },
      { type: 'result', id: 'y', output: '2', at: at(3) },
      { type: 'result', id: 'x', output: '1', ok: false, ms: 7 },
    ],
    ['1 sh one =failed 1 7', '1 sh two =completed 2 1000'],
  ],
  [
    'an id that comes again is the latest open call',
    [
      { type: 'call', id: 'x', name: 'sh', detail: 'one' },
      { type: 'call', id: 'x', name: 'sh', detail: 'two' },
      { type: 'result', id: 'x', output: '2' },
    ],
    ['1 sh one =none  -', '1 sh two =completed 2 -'],
  ],
  [
    'a result without an id is that of the oldest open call; one without a call is left out',
    [
      { type: 'call', name: 'sh', detail: 'one' },
      { type: 'call', name: 'sh', detail: 'two' },
      { type: 'result', output: '1' },
      { type: 'result', id: 'unknown', output: '?' },
    ],
    ['1 sh one =completed 1 -', '1 sh two =none  -'],
  ],
  [
    'a start forgets what another try had',
    [
      { type: 'start', agent: 'codex' },
      { type: 'text', text: 'a' },
      { type: 'start', agent: 'claude' },
      { type: 'text', text: 'b' },
    ],
    ['1 text b'],
  ],
])('%s', ([, lines, items]) => {
  expect(told(lines)).toEqual(items);
});

test('a call without a result runs while the session does', () => {
  const lines: readonly SessionLine[] = [{ type: 'call', name: 'sh' }];
  expect(told(lines, false)).toEqual(['1 sh  =running  -']);
  expect(told(lines, true)).toEqual(['1 sh  =none  -']);
});

test('usage counts for its turn once, and gives time to the first token', () => {
  const { turns, first_ms, model } = sessionOf(
    [
      { type: 'start', agent: 'openai', model: 'm', at: at(0) },
      { type: 'turn', turn: 1, at: at(0) },
      { type: 'usage', turn: 1, input_tokens: 5, output_tokens: 1, incomplete: true },
      { type: 'usage', turn: 1, input_tokens: 9, output_tokens: 2, ms: 800, first_ms: 300 },
      { type: 'turn', turn: 2, at: at(4) },
      { type: 'text', text: 'done', at: at(6) },
    ],
    true,
  );
  expect({ first_ms, model }).toEqual({ first_ms: 300, model: 'm' });
  expect(turns).toEqual([
    {
      number: 1,
      at: at(0),
      ms: 800,
      first_ms: 300,
      usage: { model: 'm', input_tokens: 9, output_tokens: 2, cost_usd: null },
    },
    { number: 2, at: at(4), ms: 2000, first_ms: 2000, usage: null },
  ]);
});

test('times that a command leaves to its reader say nothing of the first token', () => {
  const { turns } = sessionOf(
    [
      { type: 'start', agent: 'command' },
      { type: 'turn', at: at(1) },
      { type: 'text', text: 'a', at: at(1) },
    ],
    true,
  );
  expect(turns[0]?.first_ms).toBeNull();
});

test.for<readonly [Parameters<typeof detailIn>[0], string]>([
  [undefined, ''],
  ['ls', 'ls'],
  [{ command: ['npm', 'test'] }, 'npm test'],
  [{ depth: 1, path: 'src' }, 'src'],
  [{ depth: 1 }, ''],
  [[1], '[1]'],
])('the arguments %j are about "%s"', ([given, detail]) => {
  expect(detailIn(given)).toBe(detail);
});

const lineArbitrary: fc.Arbitrary<SessionLine> = fc.oneof(
  fc.constant<SessionLine>({ type: 'turn' }),
  fc.record({ type: fc.constant('text' as const), text: fc.string() }),
  fc.record({
    type: fc.constant('call' as const),
    id: fc.constantFrom('a', 'b'),
    name: fc.constantFrom('x', 'y'),
  }),
  fc.record({ type: fc.constant('result' as const), id: fc.constantFrom('a', 'b'), output: fc.string() }),
  fc.record({ type: fc.constant('usage' as const), turn: fc.constantFrom(1, 2, 3), input_tokens: fc.nat() }),
  fc.record({ type: fc.constant('note' as const), text: fc.string() }),
);

test('items only get more and their order stays, whatever comes next', () => {
  fc.assert(
    fc.property(fc.array(lineArbitrary, { maxLength: 30 }), fc.nat(30), (lines, cut) => {
      const before = sessionOf(lines.slice(0, cut), false).items;
      const all = sessionOf(lines, false).items;
      const key = ({ turn, kind, text, call }: (typeof all)[number]) => [turn, kind, text, call?.name];
      expect(all.slice(0, before.length).map(key)).toEqual(before.map(key));
    }),
  );
});
