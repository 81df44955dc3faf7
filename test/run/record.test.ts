import { expect, test } from 'vitest';
import type { ExchangeItem } from '../../src/core/contracts/agent.ts';
import { masker } from '../../src/core/policy/mask.ts';
import { withoutSplit } from '../../src/run/record.ts';

const secret = 'hunter2-and-more';
const mask = masker([secret]);
const halves = [secret.slice(0, 7), secret.slice(7)];
const event = (one: unknown): ExchangeItem => ({ kind: 'event', event: one });
const chunk = (delta: object): ExchangeItem =>
  event({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: null }] });
const output = (delta: string) => event({ type: 'response.output_text.delta', delta });
const thought = (delta: string) => event({ type: 'response.reasoning_text.delta', delta });
const call = (text: string) => ({ tool_calls: [{ index: 0, id: 'c', function: { arguments: text } }] });

test.for<[string, (piece: string) => ExchangeItem]>([
  ['a text', output],
  ['the text of a chat', (content) => chunk({ role: 'assistant', content })],
  ['a text in parts', (text) => chunk({ content: [{ type: 'text', text }] })],
  ['reasoning in a chat', (reasoning_content) => chunk({ reasoning_content })],
  ['the arguments of a call in a chat', (text) => chunk(call(text))],
])('a secret that is spelled out piece by piece is left out: %s', ([, said]) => {
  const kept = withoutSplit(['fine: ', ...halves, ' it was'].map(said), mask);
  expect(kept).toHaveLength(4);
  expect(JSON.stringify(kept)).not.toContain(halves[0]);
  expect(JSON.stringify(kept)).not.toContain(halves[1]);
});

test('text of another stream between its pieces hides no secret, and stays', () => {
  const [first = '', second = ''] = halves;
  const kept = withoutSplit([output(first), thought('let me see'), output(second)], mask);
  expect(kept).toEqual([output('***'), thought('let me see'), output('***')]);
});

test('events without a secret are kept as they came', () => {
  const items = [
    event(7),
    event(null),
    event({ choices: [null, {}] }),
    chunk({ content: null }),
    output('a'),
  ];
  expect(withoutSplit(items, mask)).toBe(items);
  const [first = '', second = ''] = halves;
  expect(withoutSplit([...items, output(first), output(second)], mask).slice(0, 4)).toEqual(
    items.slice(0, 4),
  );
});
