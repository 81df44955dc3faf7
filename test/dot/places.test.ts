/** Exact messages and places of refused texts, and similar texts that are accepted. */
import { expect, test } from 'vitest';
import { evaluate, parseCondition } from '../../src/core/conditions.ts';
import { readGraph } from '../../src/dot/read.ts';
import { conditionText } from '../support/condition-text.ts';

const inside = (body: string) => readGraph('p.dot', `digraph { ${body} }`);

/** Refused texts and the characters that are underlined. */
test.for([
  ['a /* never', 'unclosed-comment', '/*'],
  ['a [x="never]', 'unclosed-string', '"'],
  ['a [x="one + "two" + "three"]', 'unclosed-string', '"one + "'],
  ['a [x="one]\n b [y=   "z z"]', 'unclosed-string', '"one]\n b [y=   "'],
  ['a [x=#ff;y=2]', 'syntax', '#ff'],
  ['a [x=#ff,y=2]', 'syntax', '#ff'],
  ['a [x=one "two"]', 'syntax', 'one'],
  ['a [x=1 { b:p', 'unclosed-list port', '[ :p'],
  ['1a -> 1b; 1c', 'bad-id bad-id bad-id', '1a 1b 1c'],
  ['a -> é -> b', 'bad-id', 'é'],
] as const)('%j is refused as %s at %j', ([body, codes, places]) => {
  const text = `digraph { ${body} }`;
  const { diagnostics } = readGraph('p.dot', text);
  const underlined = diagnostics.map(({ place }) =>
    text.slice(place?.span.start.offset, place?.span.end.offset),
  );
  expect([diagnostics.map(({ code }) => code).join(' '), underlined.join(' ')]).toEqual([codes, places]);
});

test.for([
  ['digraph {\r\n\r\n 1a }', '3:2'],
  ['// 😀😀\ndigraph { /* 😀 */ 1a }', '2:19'],
  ['digraph {\r 1a }', '2:2'],
] as const)('the position in %j is %s, as in an editor', ([text, where]) => {
  const [found] = readGraph('p.dot', text).diagnostics;
  expect(`${found?.place?.span.start.line}:${found?.place?.span.start.column}`).toBe(where);
});

test('a missing value is reported with the name of its attribute', () => {
  expect(inside('a [x=1, y=]').diagnostics.map(({ message }) => message)).toEqual([
    'a value is missing after "y" =',
  ]);
});

test.for([
  ['a [x=b\\\r\n, y=2]', 'x', 'b'],
  ['a [x= #c\n1]', 'x', '1'],
  ['a [x=b//c\n]', 'x', 'b'],
  ['a [x=:b]', 'x', ':b'],
  ['a [x=–]', 'x', '–'],
] as const)('%j is read: %s is %s', ([body, key, value]) => {
  const { graph, diagnostics } = inside(body);
  expect(diagnostics).toEqual([]);
  expect(graph?.nodes.get('a')?.attrs.get(key)?.value.text).toBe(value);
});

test.for([
  ['goal=:x', ':x'],
  ['goal=–', '–'],
] as const)('a value outside of brackets may begin with a punctuation character: %s', ([body, value]) => {
  const { graph, diagnostics } = inside(body);
  expect(diagnostics).toEqual([]);
  expect(graph?.attrs.get('goal')?.value.text).toBe(value);
});

test('a node that is declared later keeps the place of its first mention', () => {
  expect([...(inside('a -> b; c; b [x=1]').graph?.nodes.keys() ?? [])]).toEqual(['a', 'b', 'c']);
});

test('a subgraph keeps its label when it gets other attributes, and its label is used', () => {
  const { graph } = inside('subgraph { label=Loop; graph [x=1]; a } subgraph { graph [label=Fix]; b }');
  expect([...(graph?.nodes.values() ?? [])].map(({ classes }) => classes)).toEqual([['loop'], ['fix']]);
  expect(graph?.ofSubgraphs.map(({ key }) => key)).toEqual(['x']);
});

test.for([
  ['n < abc', '10', true],
  ['n < abc', 'b', false],
  ['n < 9', '10', false],
  ['outcome contains pass', 'success', false],
  ['outcome contains ucc', 'success', true],
  ['outcome matches "^pass$"', 'success', false],
  ['outcome = pass', 'success', true],
] as const)('%s, with %s, is %s', ([text, value, wanted]) => {
  const read = parseCondition(text);
  if (!('condition' in read)) throw new Error(read.message);
  expect(evaluate(read.condition, () => value)).toBe(wanted);
});

test('a literal with quotes and backslashes keeps its value when printed', () => {
  const condition = { op: 'compare', key: 'a', test: '=', literal: 'say "x" \\ y' } as const;
  expect(parseCondition(conditionText(condition))).toMatchObject({ condition });
});

test('a key without a comparison has no literal', () => {
  expect(parseCondition('outcome && !a')).toMatchObject({
    compared: [],
    keys: [{ key: 'outcome' }, { key: 'a' }],
  });
});
