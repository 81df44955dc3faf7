import { expect, test } from 'vitest';
import type { Json } from '../../../src/core/json.ts';
import { parseVerificationPlan } from '../../../src/core/policy/verification-plan.ts';

const workspace = '/runs/r1/workspace';

test.for<[value: Json, files: string[], commands: string[]]>([
  [{ files: ['a.txt'], commands: ['true'] }, ['a.txt'], ['true']],
  [{ commands: ['  go test ./...  '] }, [], ['go test ./...']],
  [{ files: null, commands: ['true'], extra: 1 }, [], ['true']],
  [{ files: ['./a//b/../c.txt', ' src/ '], commands: ['true'] }, ['a/c.txt', 'src'], ['true']],
  [{ files: [`${workspace}/src/a.ts`, workspace], commands: ['true'] }, ['src/a.ts', '.'], ['true']],
  [{ files: ['..hidden', 'a..b'], commands: ['true'] }, ['..hidden', 'a..b'], ['true']],
])('%j is a plan', ([value, files, commands]) => {
  expect(parseVerificationPlan(value, { workspace })).toEqual({ plan: { files, commands } });
});

test('a file name in a plan by a tool keeps its blanks', () => {
  const value = { files: ['a ', ' b/c.txt'], commands: [] };
  expect(parseVerificationPlan(value, { workspace, byTool: true })).toEqual({ plan: value });
});

test.for<[value: Json, why: RegExp]>([
  [null, /not an object/],
  ['go test', /not an object/],
  [[], /not an object/],
  [{ files: ['../x'], commands: ['true'] }, /outside the workspace/],
  [{ files: ['..'], commands: ['true'] }, /outside the workspace/],
  [{ files: ['a/../../x'], commands: ['true'] }, /outside the workspace/],
  [{ files: ['/etc/passwd'], commands: ['true'] }, /outside the workspace/],
  [{ files: ['/runs/r1/workspace2/x'], commands: ['true'] }, /outside the workspace/],
  [{ files: [`${workspace}/../x`], commands: ['true'] }, /outside the workspace/],
  [{ files: ['~/x'], commands: ['true'] }, /contains "~"/],
  [{ files: ['x~'], commands: ['true'] }, /contains "~"/],
  [{ files: ['a\0b'], commands: ['true'] }, /NUL/],
  [{ files: [' '], commands: ['true'] }, /file name is blank/],
  [{ files: [1], commands: ['true'] }, /`files` is not a list/],
  [{ files: 'a.txt', commands: ['true'] }, /`files` is not a list/],
  [{ files: {}, commands: ['true'] }, /`files` is not a list/],
  [{ files: [], commands: [] }, /no commands/],
  [{ files: ['a.txt'] }, /no commands/],
  [{ files: [], commands: ['  '] }, /command is blank/],
  [{ files: [], commands: ['true', ''] }, /command is blank/],
  [{ files: [], commands: [['true']] }, /`commands` is not a list/],
  [{ files: [], commands: 'true' }, /`commands` is not a list/],
])('%j is no plan', ([value, why]) => {
  expect(parseVerificationPlan(value, { workspace })).toEqual({ problem: expect.stringMatching(why) });
});

test('a plan without commands is valid where that is allowed', () => {
  expect(parseVerificationPlan({ files: ['a'], commands: [] }, { workspace, byTool: true })).toEqual({
    plan: { files: ['a'], commands: [] },
  });
});

test('in a branch files are named by the path at which its programs see the workspace, too', () => {
  const options = { workspace: '/run/.scratch/.branches/fan/a', seenAt: '/run/workspace' };
  for (const file of ['/run/workspace/src/x.ts', '/run/.scratch/.branches/fan/a/src/x.ts', 'src/x.ts'])
    expect(parseVerificationPlan({ files: [file], commands: ['true'] }, options)).toMatchObject({
      plan: { files: ['src/x.ts'] },
    });
  expect(parseVerificationPlan({ files: ['/run/workspaces'], commands: ['true'] }, options)).toHaveProperty(
    'problem',
  );
});
