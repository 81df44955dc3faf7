import { expect, test } from 'vitest';
import { flagsFirst } from '../../src/cli/arguments.ts';

test.for([
  ['-q run x --json', 'run x -q --json'],
  ['-q --json order run --no-push', 'order run -q --json --no-push'],
  ['-v run --workdir w x', 'run -v --workdir w x'],
  ['-q runs', 'runs -q'],
  ['run -q x', 'run -q x'],
  ['-q --version', '-q --version'],
  ['-q', '-q'],
  ['--runsdir r runs', '--runsdir r runs'],
  ['', ''],
])('flags before the command are moved behind it: %s', ([given, read]) => {
  const words = (text: string) => text.split(' ').filter((word) => word !== '');
  expect(flagsFirst(words(given ?? ''))).toEqual(words(read ?? ''));
});
