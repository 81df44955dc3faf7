/** Words that are no verbs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { house } from '../support/house.ts';

let it: Awaited<ReturnType<typeof house>>;
beforeAll(async () => {
  it = await house({
    'fail.dot': 'digraph { start; exit; start -> exit }',
    'spec.md': '# A spec',
    '.factory/runs/tuesday/journal.jsonl': '',
  });
});
afterAll(() => it[Symbol.asyncDispose]());

test.for([
  [['sohw'], 'factory show'],
  [['status'], 'factory show'],
  [['stauts', 'latest'], 'factory show latest'],
  [['list'], 'factory runs'],
  [['delete', '-2'], 'factory rm -2'],
  [['retry', 'latest'], 'factory resume latest'],
  [['fail.dot'], 'factory run fail.dot'],
  [['fail'], 'factory run fail'],
  [['fail.dot', '--var', 'a=b c'], "factory run fail.dot --var 'a=b c'"],
  [['missing.dot'], 'factory run missing.dot'],
  [['compile-and-build'], 'factory run compile-and-build'],
  [['spec.md'], 'factory build spec.md'],
  [['tuesday'], 'factory show tuesday'],
  [['queue', 'dorp'], 'factory queue drop'],
] as const)('%j: the command that was meant is %s', async ([words, meant]) => {
  const told = await it.called([...words]);
  expect(told.code).toBe(2);
  expect(told.err).toContain(`did you mean ${meant}?`);
});

test('a word that is like nothing leads to the list of commands', async () => {
  const told = await it.called(['xyzzyplugh']);
  expect(told).toMatchObject({ code: 2, err: expect.stringContaining("unknown command 'xyzzyplugh'") });
  expect(told.err).toContain('factory --help tells the commands');
  expect(told.err).not.toContain('did you mean');
});
