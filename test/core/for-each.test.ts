/** Lists of a fan-out: their items, what is read of them, and the graph that the branch of an item walks. */
import { expect, test } from 'vitest';
import { itemScope, itemsOfList, settingsForItem, unfitItem } from '../../src/core/for-each.ts';
import { idInRun, writtenId } from '../../src/core/graph.ts';
import { instanceIds, laneGraph } from '../../src/core/lane-graph.ts';
import { expand } from '../../src/core/references.ts';
import { forkedGraph } from '../support/branches.ts';

test.for([
  ['a JSON list', '["a b", 2, {"x": 1}]', ['a b', 2, { x: 1 }]],
  ['a JSON list in a code fence', '```json\n["a"]\n```\n', ['a']],
  ['an empty JSON list', ' [] ', []],
  ['no text', '', []],
  ['lines, without blanks around them and empty ones', ' a\r\n\n b c \n', ['a', 'b c']],
  ['one line', 'a, b', ['a, b']],
] as const)('the items of %s', ([, text, items]) => {
  expect(itemsOfList(text)).toEqual({ items });
});

test.for([
  ['[1, 2', /begins as a JSON list and is none/],
  [JSON.stringify(Array.from({ length: 1001 }, (_, at) => at)), /1001 items, and the most are 1000/],
] as const)('a list that is none is told why', ([text, problem]) => {
  expect(itemsOfList(text)).toEqual({ problem: expect.stringMatching(problem) as string });
});

const scope = (item: Parameters<typeof itemScope>[0], index = 3) => ({
  goal: undefined,
  lookup: (kind: string) => (kind === 'ctx' ? 'C' : undefined),
  item: itemScope(item, index),
});

test.for([
  ['the item and its number', '${item} is ${index}', 'a', { text: 'a is 3' }],
  [
    'an object as JSON, and its keys',
    '${item} ${item.a.b} ${item.l.0}',
    { a: { b: 1 }, l: ['x'] },
    { text: '{"a":{"b":1},"l":["x"]} 1 x' },
  ],
  ['a key that it lacks', '${item.c}', { a: 1 }, { unknown: 'item.c' }],
  ['a key of a text', '${item.c}', 'a', { unknown: 'item.c' }],
  [
    'a value that looks like a reference, which is not expanded',
    '${item}',
    '${ctx.x} $goal',
    { text: '${ctx.x} $goal' },
  ],
  ['a literal', '$${item}', 'a', { text: '${item}' }],
] as const)('a text reads %s', ([, text, item, expected]) => {
  expect(expand(text, scope(item), 'plain')).toEqual(expected);
});

test('a command gets the item as one word, and elsewhere the words belong to the shell', () => {
  const command = 'for item in a; do cat ${item} "$x"; done';
  expect(expand(command, scope('a; rm x'), 'shell')).toEqual({
    text: `for item in a; do cat 'a; rm x' "$x"; done`,
  });
  const { item: _, ...outside } = scope('a');
  expect(expand(command, outside, 'shell')).toEqual({ text: command });
  expect(expand('${item} ${index} ${item.x}', outside, 'prompt')).toEqual({
    text: '${item} ${index} ${item.x}',
  });
});

test('attributes that name the item have its value in the branch, and no value that they would not have otherwise', () => {
  const graph = forkedGraph('start -> f -> a -> j -> x', {
    a: 'prompt="${item}", response_file="out/${index}.md", allowed_write_paths="src/${item}/, docs/", max_visits=2',
  });
  const node = graph.nodes.get('a');
  if (node === undefined) throw new Error('no node');
  expect(settingsForItem(node, itemScope('ui', 1))).toEqual({
    values: { response_file: 'out/1.md', allowed_write_paths: ['src/ui/', 'docs/'] },
  });
  for (const item of ['../x', 'ui, test', 'a\nb'])
    expect(settingsForItem(node, itemScope(item, 1)), item).toHaveProperty('problem');
  expect(unfitItem(graph, ['a'], ['ui', 'x/../../y'])).toMatch(/^item 2: allowed_write_paths of "a"/);
  expect(unfitItem(graph, ['a'], ['ui', 'x'])).toBeUndefined();
});

const edgesOf = ({ edges }: ReturnType<typeof forkedGraph>) => edges.map(({ from, to }) => `${from}>${to}`);

test('the branch of an item walks instances of the nodes of the branch, and the rest of the graph', () => {
  const graph = forkedGraph('start -> f -> a -> b -> a; b -> j -> c -> x', {
    f: 'for_each="${ctx.l}", item_key=file',
    a: 'prompt=p, llm_model="${item}", goal_gate=true, retry_target=b',
  });
  expect(instanceIds('a', ['m1', 'm2'])).toEqual(['a.1', 'a.2']);
  const lane = laneGraph(graph, { node: 'f', items: ['m1', 'm2'] }, 'a.2');
  expect([...lane.nodes.keys()].sort()).toEqual(['a.2', 'b.2', 'c', 'f', 'j', 'start', 'x']);
  expect(edgesOf(lane).sort()).toEqual(['a.2>b.2', 'b.2>a.2', 'b.2>j', 'c>x', 'f>a.2', 'j>c', 'start>f']);
  const settings = lane.nodes.get('a.2')?.settings;
  expect([settings?.retry_target, settings?.llm_model, settings?.max_visits]).toEqual(['b.2', ['m2'], 50]);
  expect(lane.instance).toMatchObject({ item: 'm2', index: 2, key: 'file' });
  expect([writtenId(lane, 'a.2'), idInRun(lane, 'b'), idInRun(lane, 'c')]).toEqual(['a', 'b.2', 'c']);
  expect(laneGraph(graph, { node: 'f', items: ['m1', 'm2'] }, 'a.2')).toBe(lane);
  expect(laneGraph(graph, { node: 'f', items: ['m1', 'm3'] }, 'a.2')).not.toBe(lane);
});

test('a list in a list has instances of instances', () => {
  const graph = forkedGraph('start -> f -> a -> f2 -> b -> j2 -> j -> x', {
    f: 'for_each="1"',
    f2: 'for_each="1"',
  });
  const outer = laneGraph(graph, { node: 'f', items: ['o'] }, 'a.1');
  const inner = laneGraph(outer, { node: 'f2.1', items: ['i', 'k'] }, 'b.1.2');
  expect(edgesOf(inner)).toEqual([
    'start>f',
    'f>a.1',
    'a.1>f2.1',
    'f2.1>b.1.2',
    'b.1.2>j2.1',
    'j2.1>j',
    'j>x',
  ]);
  expect(inner.instance).toMatchObject({ item: 'k', index: 2 });
  expect(['b', 'a', 'j2', 'x'].map((id) => idInRun(inner, id))).toEqual(['b.1.2', 'a.1', 'j2.1', 'x']);
  expect(['b.1.2', 'a.1'].map((id) => writtenId(inner, id))).toEqual(['b', 'a']);
});

test('branches that are edges, and a called pipeline, walk the graph as it is', () => {
  const graph = forkedGraph('start -> f -> {a b} -> j -> x');
  expect(laneGraph(graph, { node: 'f' }, 'a')).toBe(graph);
  const child = forkedGraph('start -> x');
  const caller = { ...graph, children: new Map([['a', child]]) };
  expect(laneGraph(caller, { node: 'a', call: true }, 'a.start')).toBe(child);
});
