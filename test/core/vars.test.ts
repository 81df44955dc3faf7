import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseVars, variablesOf, withGoal } from '../../src/core/variables.ts';
import { graphOf } from '../support/graph.ts';

test('variables are in order, with their defaults', () => {
  expect(parseVars('repo, spec=@../x.md, attempts=5,empty=, note = "a, b" ,other=a=b').vars).toMatchObject([
    { name: 'repo', value: undefined, file: false },
    { name: 'spec', value: '../x.md', file: true },
    { name: 'attempts', value: '5', file: false },
    { name: 'empty', value: '', file: false },
    { name: 'note', value: 'a, b', file: false },
    { name: 'other', value: 'a=b', file: false },
  ]);
});

test('a blank text declares none', () => {
  expect(parseVars(' \n')).toEqual({ vars: [], problems: [] });
});

test.for([
  ['a=1,', 3, 'empty'],
  ['a=1,,b=2', 4, 'empty'],
  ['1a=2', 0, 'not a variable name'],
  ['a b=2', 0, 'not a variable name'],
  ['=2', 0, 'not a variable name'],
  ['a=1, a=2', 5, 'twice'],
  ['a=@', 0, 'no file'],
] as const)('%s has a problem at %i', ([text, at, message]) => {
  const { problems } = parseVars(text);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({ at, message: expect.stringContaining(message) });
});

test('any text gives variables and problems inside it', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab=,@"\' \n') }), (text) => {
      const { vars, problems } = parseVars(text);
      for (const { at, length } of [...vars, ...problems]) {
        expect(at).toBeGreaterThanOrEqual(0);
        expect(at + length).toBeLessThanOrEqual(Math.max(text.length, 1));
      }
      expect(new Set(vars.map((v) => v.name)).size).toBe(vars.length);
    }),
  );
});

test('a long run of blanks is scanned once', () => {
  expect(parseVars(`a=1,${' '.repeat(1_000_000)}b=2`).vars.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(parseVars(`a=1,${' '.repeat(1_000_000)}1b`).problems).toHaveLength(1);
});

test.for([
  ['vars="a=1, b"; inputs="b, topic"', ['a=1', 'b', 'topic']],
  ['inputs="topic"; x [prompt="{{ inputs.other }}"]', ['topic']],
  [
    'goal="for {{ inputs.repo }}"; x [script="get {{ inputs.url }}"]; y [prompt="{{ inputs.repo }}"]',
    ['repo', 'url'],
  ],
] as const)('the parameters of %s are %j', ([text, wanted]) => {
  const names = variablesOf(graphOf(text)).map(({ name, value }) =>
    value === undefined ? name : `${name}=${value}`,
  );
  expect(names).toEqual(wanted);
});

test('a goal names variables, once', () => {
  const graph = graphOf('vars="repo=x"; goal="Review $context.repo, {{ inputs.repo }} and $other"');
  expect(withGoal(graph, { repo: '$repo' }).settings.goal?.value).toBe('Review $repo, $repo and $other');
});
