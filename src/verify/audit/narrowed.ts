/** Checks that a plan made by an agent narrowed to a part of the tests. */

import { type Graph, nodeOf } from '../../core/graph.ts';
import { narrowingOf } from '../../core/policy/allowed-commands.ts';
import { isTestFile } from '../../core/policy/test-files.ts';
import type { AuditFinding } from '../../core/records/audit.ts';
import type { RunRecord, VisitRecord } from '../../core/records/visit.ts';

/** Findings for the last execution of each verification, if it passed. `start` has the paths with which the run began. */
export function narrowedChecks(
  records: readonly RunRecord[],
  graph: Graph | undefined,
  start: Iterable<string>,
): AuditFinding[] {
  const tests = [...start].filter(isTestFile);
  const origins = new Map<string, string>();
  const found = new Map<string, AuditFinding[]>();
  for (const record of records) {
    if (record.type === 'BranchStopped') continue;
    const set = record.type === 'Start' ? record.origins : record.origins.set;
    if (record.type === 'Visit') {
      const node = nodeOf(graph, record.node);
      if (node?.type === 'verification') {
        const byAgent = origins.get(node.settings['verification.plan_context_key']) === 'agent';
        const passed = record.outcome.status === 'success' && byAgent;
        found.set(node.id, passed ? narrowedIn(record, node.settings, tests) : []);
      }
    }
    for (const [key, by] of Object.entries(set)) origins.set(key, by);
  }
  return [...found.values()].flat();
}

type Allowed = {
  readonly 'verification.allowed_commands'?: readonly string[] | undefined;
  readonly 'verification.workdir': string;
};

function narrowedIn(
  { node, visit, commands = [] }: VisitRecord,
  { 'verification.allowed_commands': allowed = [], 'verification.workdir': folder }: Allowed,
  tests: readonly string[],
): AuditFinding[] {
  const read = commands.map(({ argv }) => ({ argv, ...narrowingOf(argv, allowed, { tests, folder }) }));
  // With a command that runs all, the others are additional.
  const whole = new Set(read.flatMap(({ prefix, added }) => (added?.length === 0 ? [prefix] : [])));
  return read.flatMap(({ argv, prefix, added = [] }): AuditFinding[] =>
    added.length === 0 || whole.has(prefix)
      ? []
      : [
          {
            code: 'check-narrowed',
            severity: 'error',
            sure: 'likely',
            node,
            visit,
            where: `${node}/verification.plan.json`,
            path: null,
            line: null,
            message: `the plan of an agent runs only a part of the tests: ${argv.join(' ')}`,
            fix: `list the command that runs all tests as "=…" in verification.allowed_commands of node "${node}", or this one if it is wanted`,
          },
        ],
  );
}
