/** The bench's command line. */
import { expect, test } from 'vitest';
import { readFlags } from '../../bench/flags.ts';
import { highestPriority, usualPriority } from '../../bench/priority.ts';

test('without flags every case is measured, as often as it wants', () => {
  expect(readFlags([], '/here')).toEqual({
    quick: false,
    only: [],
    runs: undefined,
    against: undefined,
    json: undefined,
    plot: undefined,
    limitMs: 1_800_000,
    record: false,
    priority: highestPriority(),
  });
});

test('the other program is split into words, and files are named from where one stands', () => {
  const argv = ['--quick', '--only', 'copy, one-node', '--runs', '4', '--limit', '90'];
  const more = [
    '--against',
    "'/opt/my runner/bin' --fast",
    '--json',
    'a.json',
    '--plot',
    '/tmp/a.svg',
    '--usual-priority',
  ];
  expect(readFlags([...argv, ...more], '/here')).toEqual({
    quick: true,
    only: ['copy', 'one-node'],
    runs: 4,
    against: ['/opt/my runner/bin', '--fast'],
    json: '/here/a.json',
    plot: '/tmp/a.svg',
    limitMs: 90_000,
    record: false,
    priority: usualPriority,
  });
});

test.for([
  { argv: ['--only', 'one-nod'], problem: /"one-nod", which is no case: did you mean "one-node"\?/ },
  { argv: ['--only', ','], problem: /--only names no case/ },
  { argv: ['--runs', '0'], problem: /--runs is 0: give a whole number/ },
  { argv: ['--runs', '2.5'], problem: /--runs is 2\.5/ },
  { argv: ['--limit', 'soon'], problem: /--limit is soon/ },
  { argv: ['--against', ''], problem: /--against is empty/ },
  { argv: ['--against', 'a "b'], problem: /double quote is never closed, at character 3/ },
  { argv: ['--fast'], problem: /--fast/ },
  { argv: ['copy'], problem: /copy/ },
])('$argv is refused: $problem', ({ argv, problem }) => {
  const answer = readFlags(argv, '/here');
  expect('problem' in answer ? answer.problem : answer).toMatch(problem);
});
