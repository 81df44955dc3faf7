/** The options of human gates, and the words that name them. */
import { expect, test } from 'vitest';
import { choicesOf, defaultsNamed, optionsNamed } from '../../src/core/human-gate.ts';
import { graphOf } from '../support/graph.ts';

/** The gate `ask`; of each edge its attributes, to the nodes a, b, c, … */
function choices(edges: readonly string[], attributes = '') {
  const ids = [...'abcdef'].slice(0, edges.length);
  const graph = graphOf(
    `ask [shape=hexagon${attributes === '' ? '' : `, ${attributes}`}]; ${ids.map((id, at) => `${id} [label=x]; ask -> ${id} [${edges[at]}]`).join('; ')}`,
  );
  const node = graph.nodes.get('ask');
  if (node === undefined) throw new Error('no gate');
  return choicesOf(graph, node);
}

const shown = (edges: readonly string[], attributes?: string): readonly string[] =>
  choices(edges, attributes).options.map(({ key, label, isNo }) => `${key} ${label}${isNo ? ' (No)' : ''}`);

test.for([
  [
    ['label="[A] Approve"', 'label="[R] Revise"'],
    ['A Approve', 'R Revise'],
  ],
  [
    ['label="y) Yes"', 'label="N - No"', 'label="[Q]Quit"'],
    ['Y Yes', 'N No', 'Q Quit'],
  ],
  [
    ['label=Approve', 'label=Abort', 'label=abba'],
    ['A Approve', 'B Abort', '1 abba'],
  ],
  [
    ['label=Abort', 'label="[A] Approve"'],
    ['B Abort', 'A Approve'],
  ],
  [
    ['label="[A] Approve"', 'label="[A] Again"'],
    ['A Approve', 'G Again'],
  ],
  [
    ['label="[OK] Fine"', 'label=""'],
    ['OK Fine', 'B b'],
  ],
  [
    ['label="[A]"', 'label="Ärger"'],
    ['A A', 'Ä Ärger'],
  ],
] as const)('edges %j are the options %j', ([edges, expected]) => {
  expect(shown(edges)).toEqual(expected);
});

test.for([
  [
    ['label=Yes', 'label=No'],
    ['Y Yes', 'N No (No)'],
  ],
  [
    ['label=Reject', 'label=Accept'],
    ['R Reject (No)', 'A Accept'],
  ],
  [
    ['label="[N] Revise"', 'label="[Y] Approve"'],
    ['N Revise (No)', 'Y Approve'],
  ],
  [
    ['label=Stay', 'label=Leave'],
    ['S Stay', 'L Leave (No)'],
  ],
  [
    ['label="[N] Ship", condition="outcome=success"', 'label="[R] Wait", condition="outcome=fail"'],
    ['N Ship', 'R Wait (No)'],
  ],
] as const)('of yes_no edges %j the options are %j', ([edges, expected]) => {
  expect(shown(edges, 'mode=yes_no')).toEqual(expected);
});

test.for([
  ['', ['label=""'], 'a', 1],
  ['', ['label=Next'], undefined, 1],
  ['', ['label=A', 'label=""'], undefined, 2],
  ['', ['label=A', 'freeform=true'], 'b', 1],
  ['mode=freeform', ['label=""'], 'a', 0],
  ['mode=freeform', ['label=Next'], 'a', 0],
  ['mode=freeform', ['label=A', 'label=""'], 'b', 1],
  ['mode=freeform', ['label=A', 'label=B, freeform=true'], 'b', 1],
  ['mode=freeform', ['condition="human_response=x"', 'label=B', 'label=C'], 'a', 2],
] as const)('%s with the edges %j takes words to %s', ([attributes, edges, to, options]) => {
  const found = choices(edges, attributes);
  expect(found.text?.to).toBe(to);
  expect(found.options).toHaveLength(options);
});

test.for([
  ['b', ['B beta']],
  ['A', ['A Alpha']],
  ['a', ['A Alpha']],
  ['beta', ['B beta']],
  ['[B] BETA', ['B beta']],
  ['c', ['B beta', 'C other']],
  ['none', []],
] as const)('%s names the options %j: target, then key, then label', ([word, expected]) => {
  const options = [
    { key: 'A', label: 'Alpha', to: 'x' },
    { key: 'B', label: 'beta', to: 'c' },
    { key: 'C', label: 'other', to: 'c' },
  ];
  expect(optionsNamed(options, word).map(({ key, label }) => `${key} ${label}`)).toEqual(expected);
});

test('the default choice of a gate that wants words may be the edge that takes them', () => {
  expect(defaultsNamed(choices(['label=""'], 'mode=freeform'), 'a')).toMatchObject([{ to: 'a' }]);
});
