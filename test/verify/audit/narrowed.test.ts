import { expect, test } from 'vitest';
import { succeeded } from '../../../src/core/outcome.ts';
import type { RunRecord } from '../../../src/core/records/visit.ts';
import { narrowedChecks } from '../../../src/verify/audit/narrowed.ts';
import { graphOf } from '../../support/graph.ts';

const start = ['test/add.test.js', 'test/sub.test.js', 'src/add.js', 'pkg/a_test.go'];
const graph = graphOf(
  'v [type=verification, verification.allowed_commands="npm test, go test, cmp, =npm test test/sub.test.js"]; b; v -> b',
);

/** The records of a run in which `by` sets the plans of these commands. */
const run = (by: string, ...plans: readonly string[][]): readonly RunRecord[] =>
  [
    { type: 'Start', origins: {} },
    ...plans.flatMap((plan, at) => [
      { type: 'Visit', node: 'a', origins: { set: { 'verification.plan': by } } },
      {
        ...{ type: 'Visit', node: 'v', visit: at + 1, origins: { set: {} }, outcome: succeeded() },
        commands: plan.map((command) => ({ argv: command.split(' ') })),
      },
    ]),
  ] as unknown as readonly RunRecord[];

test.for([
  ['all tests', 'agent', [['npm test']], 0],
  ['every package', 'agent', [['go test ./...']], 0],
  ['a part', 'agent', [['npm test test/add.test.js']], 1],
  ['one package', 'agent', [['go test ./pkg']], 1],
  ['a part, and another command', 'agent', [['cmp a b', 'go test ./pkg']], 1],
  ['a part, and all', 'agent', [['npm test test/add.test.js', 'npm test']], 0],
  ['a part, then all', 'agent', [['npm test add'], ['npm test']], 0],
  ['all, then a part', 'agent', [['npm test'], ['npm test add']], 1],
  ['a part that an entry names', 'agent', [['npm test test/sub.test.js']], 0],
  ['a part that a tool chose', 'tool', [['go test ./pkg']], 0],
] as const)('the plan runs %s', ([, by, plans, findings]) => {
  const found = narrowedChecks(run(by, ...plans.map((plan) => [...plan])), graph, start);
  expect(found).toHaveLength(findings);
  for (const one of found)
    expect(one).toMatchObject({ code: 'check-narrowed', severity: 'error', node: 'v' });
});
