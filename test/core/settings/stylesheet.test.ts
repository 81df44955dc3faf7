/** Stylesheets: which rule sets what of a node, and what cannot be read, with its place. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseStylesheet, stylesOf } from '../../../src/core/settings/stylesheet.ts';
import { sourceOf } from '../../../src/core/settings/typing.ts';
import { graphOf } from '../../support/graph.ts';

/** The settings of the node `a` under a sheet. */
const settingsOf = (sheet: string, attributes = '', around = ['', '']) => {
  const graph = graphOf(
    `model_stylesheet="${sheet}"; start [shape=Mdiamond]; exit [shape=Msquare]; ${around[0]} a [label=a${attributes}]; ${around[1]} start -> a -> exit`,
  );
  return graph.nodes.get('a')?.settings as NonNullable<ReturnType<typeof graph.nodes.get>>['settings'];
};

const hard = ', class=hard';
test.for<[sheet: string, attributes: string, model: string | undefined]>([
  ['* { llm_model: x; }', '', 'x'],
  ['* { model: x }', '', 'x'],
  ['*{model:x}box{model:y}', '', 'y'],
  ['box { model: y; } * { model: x; }', '', 'y'],
  ['.hard { model: z; } box { model: y; }', hard, 'z'],
  ['#a { model: i; } .hard { model: z; }', hard, 'i'],
  ['.hard { model: y; } .x { model: z; }', ', class="x, hard"', 'z'],
  ['.x { model: z; } .hard { model: y; }', ', class="x hard"', 'y'],
  ['.other { model: z; }', hard, undefined],
  ['.har { model: z; } #ab { model: z; } diamond { model: z; }', hard, undefined],
  ['.b, #a { model: z; }', '', 'z'],
  ['* { model: x; }', ', llm_model=own', 'own'],
  ['* { model: x; }', ', model=own', 'own'],
  ['* { model: x; }', ', llm_model=""', 'x'],
  ['/* { */ * { /* model: n; */ model: x; // model: m;\n }', '', 'x'],
  ["* { model: 'x'; }", '', 'x'],
  ['* { model: qwen2.5:7b; }', '', 'qwen2.5:7b'],
  ['* { model: https://x.example/m; }', '', 'https://x.example/m'],
  ['', '', undefined],
])('%s gives a node with "%s" the model %s', ([sheet, attributes, model]) => {
  expect(settingsOf(sheet, attributes).llm_model?.join()).toBe(model);
});

test('what a node says, also by a default, comes before the sheet, and that before the graph', () => {
  const sheet = '* { model: x; fidelity: compact; max_cost_usd: 2; }';
  expect(settingsOf(sheet, '', ['node [llm_model=d];', '']).llm_model).toEqual(['d']);
  const settings = settingsOf(sheet, ', max_cost_usd=1', ['default_fidelity=truncate;', '']);
  expect(settings).toMatchObject({ fidelity: 'compact', max_cost_usd: 1, llm_model: ['x'] });
  expect(['fidelity', 'max_cost_usd', 'llm_model', 'timeout'].map((key) => sourceOf(settings, key))).toEqual([
    ...['sheet', 'node', 'sheet', 'default'],
  ]);
});

test('the label of a subgraph is a class of the nodes in it', () => {
  const sheet = '.critical-path { llm_provider: anthropic; backend: claude; reasoning_effort: high; }';
  const settings = settingsOf(sheet, '', ['subgraph c { label="Critical Path!";', '}']);
  expect(settings).toMatchObject({
    ...{ llm_provider: 'anthropic', reasoning_effort: 'high', 'agent.backend': 'claude' },
  });
});

test('a property that the type of a node does not have is not set there', () => {
  const graph = graphOf('model_stylesheet="* { model: x; max_cost_usd: 2; }"; t [shape=parallelogram]');
  const settings = graph.nodes.get('t')?.settings;
  expect([settings?.llm_model, settings?.max_cost_usd]).toEqual([undefined, 2]);
});

test.for<[sheet: string, under: string, message: RegExp, rules: number]>([
  ['* { model=x; } #b { model: y; }', 'model=x', /not a property/, 2],
  ['* { model; }', 'model', /not a property/, 1],
  ['* { model: ; }', 'model', /no value/, 1],
  ['* { model: x provider: y; }', 'provider', /a ; is missing before provider/, 1],
  ['* { model: x;', '{', /not closed/, 1],
  ['* { model: x; .a { model: y; }', '{', /not closed/, 1],
  ['* { model: x; } }', '}', /closes nothing/, 1],
  ['model: x;', 'model: x;', /no \{ follows/, 0],
  ['{ model: x; }', '{', /selector is missing/, 0],
  ['.a .b { model: x; }', '.a .b', /not a selector/, 0],
  ['*, { model: x; }', '{', /selector is missing/, 1],
  ['.a:hover { model: x; }', '.a:hover', /not a selector/, 0],
  ['* { model: x; } /* rest', '/*', /comment is not closed/, 1],
])('%s is wrong at "%s"', ([sheet, under, message, rules]) => {
  const { problems, rules: read } = parseStylesheet(sheet);
  const [first] = problems;
  expect(sheet.slice(first?.at, (first?.at ?? 0) + (first?.length ?? 0))).toBe(under);
  expect(first?.message).toMatch(message);
  expect([problems.length, read.length]).toEqual([1, rules]);
});

test('any text is read, its places lie in it, and the rules in it set no more than the known attributes', () => {
  const piece = fc.constantFrom(
    '*',
    '.a',
    '#a',
    'box',
    '{',
    '}',
    ';',
    ':',
    ' ',
    '\n',
    'model',
    'x',
    '/*',
    '*/',
    ',',
    '//',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('');
      const { rules, problems } = parseStylesheet(text);
      const places = [...problems, ...rules, ...rules.flatMap(({ properties }) => properties)];
      for (const { at, length } of places) expect(at >= 0 && at + length <= text.length).toBe(true);
      const node = graphOf('a [class=a]').nodes.get('a');
      if (node !== undefined)
        expect([...stylesOf({ rules, problems }, node).keys()].filter((key) => key !== 'llm_model')).toEqual(
          [],
        );
    }),
  );
});
