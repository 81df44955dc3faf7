/** What the bench prints and draws. */
import { expect, test } from 'vitest';
import { compare } from '../../bench/contest.ts';
import { letters, svgOf } from '../../bench/plot.ts';
import { shown, table } from '../../bench/report.ts';

const values: Record<string, number[]> = { factory: [4, 6, 5], 'cp -a': [4, 4, 4] };
const valuesOf = (who: string) => values[who] ?? [];
const ratio = {
  what: 'copy / cp -a',
  how: 'ratio',
  of: ['factory', 'copy_ms'],
  to: ['cp -a', 'copy_ms'],
} as const;

test.for([
  { limit: 1.3, met: true },
  { limit: 1.25, met: true },
  { limit: 1.2, met: false },
])('the median of the ratios is held against the target: $limit, $met', ({ limit, met }) => {
  expect(compare({ ...ratio, limit }, valuesOf)).toEqual({
    what: 'copy / cp -a',
    how: 'ratio',
    unit: 'x',
    value: { min: 1, median: 1.25, max: 1.5, values: [1, 1.5, 1.25] },
    limit,
    met,
  });
});

test('a target that could not be measured is not met, and said to be so', () => {
  const compared = compare({ ...ratio, to: ['against', 'copy_ms'], limit: 1.3 }, valuesOf);
  expect(compared).toMatchObject({ met: false });
  const text = table({
    name: 'copy',
    title: 'copy of 3 files',
    rounds: 3,
    measured: { factory: { copy_ms: { min: 4, median: 5, max: 1234, values: [4, 5, 1234] } } },
    failed: { against: 'other run ended with code 3' },
    compared: [compared],
    costs: {},
    block: 25,
  });
  expect(text).toMatchInlineSnapshot(`
    "copy: copy of 3 files; 3 rounds
                                                   min    median       max
      factory  the copy                        4.00 ms   5.00 ms    1.23 s
      → copy / cp -a                                          not measured   target ≤ 1.30x: MISSED
      against FAILED: other run ended with code 3"
  `);
});

test.for([
  [2.314, 'ms', '2.31 ms'],
  [96.24, 'mib', '96.2 MiB'],
  [1870, 'ms', '1.87 s'],
  [-12.04, 'ms', '-12.0 ms'],
  [0.5, 'x', '0.50x'],
  [0, 'n', '0'],
] as const)('%d %s is shown as %s', ([value, unit, expected]) => {
  expect(shown(value, unit)).toBe(expected);
});

const curves = { factory: [4, 4, 4, 4], against: [2, 4, 6, 8] };

test('the plot in letters shows both curves, and where they meet', () => {
  expect(letters(curves, 25, 8, 4)).toMatchInlineSnapshot(`
    "   6.90 ms |    aaaa
               |ff**ffff
               |aa
       0.00 ms |
               +--------
                1    100  node
                f = factory, a = against, * = both"
  `);
});

test('the picture has a line for each program, and its words are escaped', () => {
  const svg = svgOf('a < b & "c"', curves, 25);
  expect(svg.match(/<polyline /g)).toHaveLength(2);
  expect(svg).toContain('<title>a &#60; b &#38; &#34;c&#34;</title>');
  expect(svg).not.toMatch(/NaN|undefined/);
  // A cost that is twice another's stands twice as high above the base line.
  const heights = [...(svg.match(/points="([^"]*)"/g)?.[1] ?? '').matchAll(/,([\d.]+)/g)].map(
    (found) => 340 - Number(found[1]),
  );
  expect((heights[1] ?? 0) / (heights[0] ?? 1)).toBeCloseTo(2, 2);
});

test('nothing measured is drawn as an empty plot', () => {
  expect(svgOf('none', { factory: [] }, 25)).not.toMatch(/NaN|Infinity/);
});
