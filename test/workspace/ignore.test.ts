import { expect, test } from 'vitest';
import { readIgnore } from '../../src/workspace/ignore.ts';

// [text, paths left out, paths kept]; a path with a slash at its end is a folder.
const rows: readonly [string, readonly string[], readonly string[]][] = [
  ['', [], ['a', 'b/']],
  ['# a\n\n  \na', ['a', 'x/a', 'a/'], ['ab', '# a', 'b']],
  ['\uFEFFa\r\nb\r\n', ['a', 'b'], ['c']],
  ['build/', ['build/', 'x/build/'], ['build', 'x/build']],
  ['/build', ['build', 'build/'], ['x/build']],
  ['docs/out', ['docs/out'], ['x/docs/out', 'docs/other']],
  ['/', [], ['a', 'b/']],
  ['*.log', ['a.log', 'x/y.log', '.log'], ['a.logs', 'log']],
  ['/*.log', ['a.log'], ['x/a.log']],
  ['a*b', ['ab', 'axxb'], ['a/b']],
  ['src/*/gen', ['src/x/gen'], ['src/gen', 'src/x/y/gen']],
  ['file.?', ['file.a', 'file.ü', 'file.🙂'], ['file.', 'file.ab']],
  ['a/?/b', ['a/x/b'], ['a//b', 'a/xx/b']],
  ['**/gen', ['gen', 'x/gen', 'x/y/gen'], ['regen']],
  ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['ab', 'x/a/b']],
  ['a/**', ['a/x', 'a/x/y'], ['a/', 'a', 'x/a/y']],
  ['x**y', ['xy', 'xaay'], ['x/y']],
  ['*\n!keep', ['a', 'x/b'], ['keep', 'x/keep']],
  ['!a\na', ['a'], []],
  ['a\n!a\na', ['a'], []],
  ['*.log\n!/top.log', ['a.log', 'x/top.log'], ['top.log']],
  ['\\#a', ['#a'], ['a', '\\#a']],
  ['\\!a', ['!a'], ['a']],
  ['a\\*b', ['a*b'], ['axb', 'a\\xb']],
  ['a  ', ['a'], ['a  ']],
  ['a\\ ', ['a '], ['a']],
  ['*.py[co]', ['a.pyc', 'a.pyo'], ['a.py', 'a.pyx']],
  ['[!a]b', ['xb'], ['ab', 'b', '/b']],
  ['[a-c]x', ['ax', 'bx'], ['dx', '-x']],
  ['*[~&]', ['x~', 'x&'], ['x', '[~&]']],
  ['[!~]b', ['ab'], ['~b']],
  ['[', ['['], ['a']],
  ['[z-a]', ['[z-a]'], ['b']],
  ['a.b+(c)|{d}^$', ['a.b+(c)|{d}^$'], ['aXb+(c)|{d}^$']],
  ['grün', ['grün'], ['grun']],
  ['.env', ['.env', 'x/.env'], ['xenv']],
];

test.for(rows)('the patterns %j leave out %j and keep %j', ([text, out, kept]) => {
  const ignore = readIgnore(text);
  const asked = (path: string): boolean => ignore(path.replace(/\/$/, ''), path.endsWith('/'));
  expect(out.filter((path) => !asked(path))).toEqual([]);
  expect(kept.filter(asked)).toEqual([]);
});
