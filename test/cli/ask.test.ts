/** A question on the terminal. */
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { askOnTerminal } from '../../src/cli/ask.ts';
import { optionsChosen } from '../../src/core/human-gate.ts';
import type { Question } from '../../src/core/records/question.ts';

const gate: Question = {
  ...{ id: 'gate@1', node: 'gate', visit: 1, mode: 'choice', text: 'Ship it?', after: null, text_to: null },
  options: [
    { key: 'A', label: 'Approve', to: 'ship' },
    { key: 'R', label: 'Request changes', to: 'fix' },
  ],
  ...{ default: null, timeout_action: 'default', asked_at: '2026-01-02T03:04:05Z', deadline: null },
};

/** Types `keys` one after the other; `other` is answered elsewhere then. */
async function typed(
  keys: readonly string[],
  { other = false, ...more }: Partial<Question> & { other?: boolean } = {},
) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const first = new AbortController();
  let shown = '';
  let interrupted = 0;
  output.on('data', (piece: Buffer) => {
    shown += piece;
  });
  const io = { err: (text: string) => (shown += text), width: 80 };
  const terminal = { input, output, interrupt: () => void interrupted++ };
  const asked = askOnTerminal({ ...gate, ...more }, terminal, { io, colour: false, signal: first.signal });
  await expect.poll(() => shown).toContain('then Enter');
  for (const key of keys) input.write(key);
  if (other) first.abort();
  return { answer: await asked, shown, interrupted };
}

test.for([
  [['a', '\r'], { choice: 'A' }],
  [['Request changes', '\r'], { choice: 'R' }],
  [['ship', '\r'], { choice: 'A' }],
  [['x', '\r', '\x7f', 'r', '\r'], { choice: 'R' }],
  [['\r', 'a', '\r'], { choice: 'A' }],
] as const)('keys %j answer %j', async ([keys, answer]) => {
  expect((await typed(keys)).answer).toEqual(answer);
});

test('a key means its option also where another option leads to a node of that name', async () => {
  const options = [
    { key: 'Y', label: 'Yes', to: 'N' },
    { key: 'N', label: 'No', to: 'Y' },
  ];
  expect((await typed(['y', '\r'], { options })).answer).toEqual({ choice: 'Y' });
  expect(optionsChosen(options, 'Y')).toEqual([options[0]]);
});

const freeform: Partial<Question> = { options: [], text_to: 'fix', mode: 'freeform' };
const either: Partial<Question> = { text_to: 'fix' };

test.for([
  [freeform, ['use less ink', '\r'], { text: 'use less ink' }],
  [freeform, ['\r'], { text: '' }],
  [either, ['a', '\r'], { choice: 'A' }],
  [either, ['not yet', '\r'], { text: 'not yet' }],
  [either, ['\r', 'r', '\r'], { choice: 'R' }],
] as const)(
  'a question that takes a text (%j) with keys %j is answered %j',
  async ([question, keys, answer]) => {
    expect((await typed(keys, question)).answer).toEqual(answer);
  },
);

test.for([
  ['Ctrl-D', ['\x04'], 0],
  ['Ctrl-D behind a word', ['ab', '\x04'], 0],
  ['Escape', ['\x1b'], 0],
  ['Ctrl-C', ['a', '\x03'], 1],
] as const)('%s is no answer', async ([, keys, interrupted]) => {
  expect(await typed(keys)).toMatchObject({ answer: undefined, interrupted });
});

test('an answer that is given elsewhere meanwhile closes the prompt', async () => {
  expect((await typed(['a'], { other: true })).answer).toBeUndefined();
});

test('a wrong word is refused with what there is, under the result that the question is about', async () => {
  const after = { node: 'build', outcome: 'partial_success', notes: 'two of three', output: 'one\n\ntwo\n' };
  const { shown } = await typed(['maybe', '\r', '\x04'], {
    after,
    deadline: '2026-01-02T04:04:05Z',
    default: 'ship',
  });
  for (const text of [
    'after build: partial success, two of three\n  │ one\n  │ two\n? Ship it? (gate@1)\n  [A] Approve\n',
    'without an answer Approve is taken at ',
    'Type A or R, then Enter',
    'there is no option "maybe": [A] Approve, [R] Request changes',
  ])
    expect(shown).toContain(text);
});
