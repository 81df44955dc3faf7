import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sightProblem, type ToolScope, toolPath, writeProblem } from '../../../src/core/policy/tool-paths.ts';

test.for([
  ['src/a.ts', 'src/a.ts'],
  ['./src//a.ts', 'src/a.ts'],
  ['.', ''],
  ['', ''],
  ['src/', 'src'],
  ['a..b/c', 'a..b/c'],
  [' blank ', ' blank '],
] as const)('the path %j means %j', ([said, path]) => {
  expect(toolPath(said)).toEqual({ path });
});

test.for([
  ['/etc/passwd', 'is absolute'],
  ['../x', 'has ".." in it'],
  ['a/../b', 'has ".." in it'],
  ['..', 'has ".." in it'],
  ['~/x', 'names a home folder'],
  ['~root', 'names a home folder'],
  ['a\0b', 'has a NUL in it'],
  ['a/'.repeat(3000), 'is longer than'],
] as const)('the path %j is refused: it %s', ([said, why]) => {
  const read = toolPath(said);
  expect('problem' in read && read.problem).toContain(why);
  expect('problem' in read && read.problem).toContain('relative to the workspace');
});

test('an accepted path neither contains .. nor is absolute', () => {
  const part = fc.constantFrom('.', '..', '', 'a', '.git', '/', 'b.c');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const read = toolPath(parts.join('/'));
      if ('path' in read) {
        expect(read.path.split('/')).not.toContain('..');
        expect(read.path.startsWith('/')).toBe(false);
        expect(toolPath(read.path)).toEqual(read);
      }
    }),
  );
});

const scope: ToolScope = { hidden: ['scripts/scenarios/', 'secret.txt'] };

test.for([
  ['scripts/scenarios', false],
  ['scripts/scenarios/judge.sh', false],
  ['Scripts/SCENARIOS/judge.sh', false],
  ['secret.txt', false],
  ['.git', false],
  ['a/.git/config', false],
  ['a/.GIT/config', false],
  ['scripts', true],
  ['scripts/scenarios2/x', true],
  ['secret.txt.bak', true],
  ['.gitignore', true],
  ['.factory/in/spec.md', true],
  ['', true],
] as const)('a node with hidden paths sees %j: %j', ([path, seen]) => {
  expect(sightProblem(path, scope) === undefined).toBe(seen);
});

test.for([
  ['', true],
  ['docs', true],
  ['docs/a/b.md', true],
  ['src/main.ts', true],
  ['src', true],
  ['src/other.ts', false],
  ['README.md', false],
] as const)('with a narrow read scope %j is visible: %j', ([path, seen]) => {
  const narrow = { hidden: [], only: ['docs/', './src/main.ts'] };
  expect(sightProblem(path, narrow) === undefined).toBe(seen);
});

test.for([
  [undefined, 'src/a.ts', undefined],
  [undefined, '.git/config', 'belongs to git'],
  [undefined, '.factory/order/state.json', 'belongs to the factory'],
  [undefined, 'scripts/scenarios/judge.sh', 'out of the scope'],
  [undefined, '', 'the path is empty'],
  [['src/'], 'src/a.ts', undefined],
  [['src/'], 'other.ts', 'is not in allowed_write_paths: this node may write src/'],
  [['src'], 'src/a.ts', 'is not in allowed_write_paths'],
  [['./'], '.factory/x', 'belongs to the factory'],
  [['.factory/out/'], '.factory/out/x', undefined],
  [['scripts/'], 'scripts/scenarios/judge.sh', 'out of the scope'],
] as const)('with %j writing %j is: %j', ([writable, path, problem]) => {
  const found = writeProblem(path, { ...scope, ...(writable === undefined ? {} : { writable }) });
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});
