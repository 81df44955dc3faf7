import { describe, expect, it } from 'vitest';
import { holdoutPaths, isSealedPath } from '../../../src/core/policy/holdout-paths.ts';

describe('the words of holdout', () => {
  it.for<[string, readonly string[], readonly string[]]>([
    ['a folder', ['scripts/scenarios/'], ['scripts/scenarios']],
    ['more than one', ['judge.sh', 'tests/hidden'], ['judge.sh', 'tests/hidden']],
    ['needless parts', ['./a//b/.'], ['a/b']],
    ['one below another', ['a/b', 'a', 'a/c', 'ab'], ['a', 'ab']],
    ['one twice', ['a', 'a/'], ['a']],
  ])('name %s', ([, words, paths]) => {
    expect(holdoutPaths(words)).toEqual({ paths });
  });

  it.for([['.'], ['./'], ['.git'], ['sub/.git/hooks'], ['.factory/in'], ['.GIT']])(
    'may not name %s',
    ([word = '']) => {
      expect(holdoutPaths(['a', word])).toHaveProperty('problem', expect.stringContaining(`"${word}"`));
    },
  );

  it('include everything below them, and no path that only shares a prefix', () => {
    const sealed = ['scripts/scenarios'];
    expect(
      ['scripts/scenarios', 'scripts/scenarios/a/b', 'scripts/scenarios2', 'scripts'].map((path) =>
        isSealedPath(path, sealed),
      ),
    ).toEqual([true, true, false, false]);
  });
});
