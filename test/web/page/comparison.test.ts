import { expect, test } from 'vitest';
import { differingParts } from '../../../src/app/compare/words.ts';
import type { RunRow } from '../../../src/app/inspect/run-row.ts';
import { comparisonOf, differenceCells, shortCells } from '../../../src/web/page/text/comparison.ts';
import { editedSettings } from '../../../src/web/page/text/node-settings.ts';

const row = (more: Partial<RunRow>) =>
  ({ run_id: 'me', forked_from: null, replay_of: null, ...more }) as RunRow;

test('a run is compared with the one that it comes from, any other with one to choose', () => {
  expect(comparisonOf(row({}))).toEqual({ view: 'compare', a: 'me' });
  expect(comparisonOf(row({ replay_of: 'old' }))).toEqual({ view: 'compare', a: 'old', b: 'me' });
  const forked_from = { run_id: 'base', node: 'a', visit: 1, before: true, changed: [] };
  expect(comparisonOf(row({ forked_from, replay_of: 'old' }))).toMatchObject({ a: 'base', b: 'me' });
});

test.for([
  [{ what: 'settings', name: 'prompt', a: 'x', b: null }, ['settings: prompt', 'x', 'none']],
  [{ what: 'inputs', name: 'prompt', a: null, b: null }, ['inputs: prompt', 'differs', 'differs']],
  [{ what: 'route', name: '', a: null, b: 'exit' }, ['route', 'ends', 'exit']],
  [{ what: 'changes', name: 'a.txt', a: 'created', b: null }, ['changes: a.txt', 'created', 'unchanged']],
] as const)('%o is shown as %o', ([difference, cells]) => {
  expect(differenceCells(difference)).toEqual(cells);
});

test('of two long texts the part with their first difference is shown', () => {
  const long = 'the same words '.repeat(20);
  const [a, b] = shortCells(`${long}one${long}`, `${long}two${long}`);
  expect([a.includes('one'), b.includes('two')]).toEqual([true, true]);
  expect([a.length <= 122, b.length <= 122]).toEqual([true, true]);
  expect(differingParts('a', 'b', 10)).toEqual(['a', 'b']);
});

test('only settings that were edited to another text are set', () => {
  const settings = [
    { name: 'prompt', text: 'Say it' },
    { name: 'llm_model', text: '' },
  ];
  expect(editedSettings('plan', settings, {})).toBe(undefined);
  expect(editedSettings('plan', settings, { prompt: 'Say it' })).toBe(undefined);
  expect(editedSettings('plan', settings, { prompt: 'Sing', llm_model: 'm' })).toEqual({
    'plan.prompt': 'Sing',
    'plan.llm_model': 'm',
  });
});
