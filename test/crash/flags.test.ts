/** The command line of `npm run crash`. */
import { expect, test } from 'vitest';
import { readFlags } from './flags.ts';

const stories = ['nodes', 'orders'];

test('without flags every point of every story runs', () => {
  expect(readFlags([], stories)).toMatchObject({
    story: undefined,
    point: undefined,
    actions: [],
    every: 1,
    seed: 1,
  });
});

test('a point names its story', () => {
  const point = 'orders:engine:write:7:kill';
  expect(readFlags(['--point', point, '--seed', '3'], stories)).toMatchObject({
    story: 'orders',
    point,
    seed: 3,
  });
});

test.for([
  { argv: ['--story', 'order'], problem: /--story names "order": did you mean "orders"\?/ },
  { argv: ['--point', 'x:engine:write:7:kill'], problem: /--point names "x": nodes, orders/ },
  { argv: ['--action', 'kill,powr'], problem: /--action names "powr": did you mean "power"\?/ },
  { argv: ['--every', '0'], problem: /--every: give a whole number of at least 1/ },
  { argv: ['--seed', 'x'], problem: /--seed: give a whole number/ },
  { argv: ['--evry', '3'], problem: /--evry/ },
])('$argv is refused: $problem', ({ argv, problem }) => {
  const answer = readFlags(argv, stories);
  expect('problem' in answer ? answer.problem : answer).toMatch(problem);
});
