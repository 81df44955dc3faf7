/** Texts of agents, products and servers may have any length and form: they are read in linear time. A pattern with
 *  quadratic time would exceed the timeout of these tests. */
import { describe, expect, test } from 'vitest';
import { forbiddenBy } from '../../../src/builder/scope.ts';
import { classifyFailure, failureWordIn } from '../../../src/core/failure-class.ts';
import { normalMessage } from '../../../src/core/failure-signature.ts';
import { settingsIn, testsIn } from '../../../src/core/policy/test-files.ts';
import { chooseCanaries } from '../../../src/holdout/leak-scan.ts';
import { markerIn } from '../../../src/scenarios/classify.ts';

const million = 1_000_000;
const content = Array.from(
  { length: 12 },
  (_, at) => `expect marmalade${at} "zebra${at}" quixotic walrus umbrella ${at * 7919}`,
).join('\n');
const sealed = [
  { kind: 'file', path: 's/x_scenario.sh', mode: 0o644, content: Buffer.from(content) },
] as const;

describe('a megabyte of any text is searched in linear time', () => {
  for (const [what, text] of [
    ['signs behind a letter', `a${'='.repeat(million)}a`],
    ['backslashes', '\\'.repeat(million)],
    ['empty lines', `${'\n'.repeat(million)}x`],
    ['letters', 'w'.repeat(million)],
    ['digits', '1'.repeat(million)],
    ['a list of numbers', '1,'.repeat(million / 2)],
    ['short lines of capitals', 'ABCDEFGHIJKLMNOPQRS\n'.repeat(million / 20)],
    ['beginnings of receivers', 'func (('.repeat(million / 8)],
  ] as const)
    test(what, () => {
      expect(chooseCanaries(sealed).chosen().find(text)).toEqual([]);
      expect(failureWordIn(text, text)).toBeUndefined();
      expect(markerIn(text)).toBeUndefined();
      expect(normalMessage(text).length).toBeLessThanOrEqual(text.length);
      expect(testsIn(text).count).toBe(0);
      for (const path of ['package.json', 'Makefile', 'setup.cfg'])
        expect(settingsIn(path, text).size).toBeLessThanOrEqual(1);
      const exit = { kind: 'exited', code: 1 } as const;
      const ended = { word: undefined, exit, command: 'x', scenarios: ['x'], judge: true, texts: [] };
      expect(classifyFailure({ ...ended, stdout: text, stderr: text }).class).toBe('product');
    });
});

test('a pattern with too deeply nested braces names nothing', () => {
  expect(forbiddenBy([`src/${'{'.repeat(100_000)}`], 'src/a')).toBeUndefined();
  expect(forbiddenBy([`${'{'.repeat(100_000)}a${'}'.repeat(100_000)}`], 'a')).toBeUndefined();
  expect(forbiddenBy([`${'{x,'.repeat(20)}a${'}'.repeat(20)}`], 'a')).toBeDefined();
});

test('every common line ending is recognised', () => {
  for (const end of ['\n', '\r\n', '\r'])
    expect(failureWordIn(`x${end}failure_class=infra${end}y`, '')).toMatchObject({ class: 'infra' });
});
