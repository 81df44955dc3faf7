import { expect, test } from 'vitest';
import { succeeded } from '../../src/core/outcome.ts';
import type { RunRecord } from '../../src/core/records/visit.ts';
import { findMoment } from '../../src/run/moment.ts';

const stamp = (seq: number) => ({
  schema_version: 2 as const,
  run_id: 'r',
  seq,
  epoch: 1,
  prev: '',
  at: 'then',
});

/** The records of a run with these executions. */
function recordsOf(...nodes: string[]): RunRecord[] {
  const visits: Record<string, number> = {};
  const start: RunRecord = {
    ...stamp(1),
    type: 'Start',
    next_node: nodes[0] ?? 'start',
    context: {},
    origins: {},
    snapshot: 's0',
    manifest_sha256: '',
  };
  return [
    start,
    ...nodes.map((node, n): RunRecord => {
      visits[node] = (visits[node] ?? 0) + 1;
      return {
        ...stamp(n + 2),
        type: 'Visit',
        node,
        node_type: 'tool',
        visit: visits[node],
        before: `s${n}`,
        after: `s${n + 1}`,
        outcome: succeeded(),
        retries: 0,
        calls: 0,
        context: { set: {}, unset: [] },
        origins: { set: {} },
        next_node: nodes[n + 1] ?? null,
        arrived: null,
        steps: n + 1,
        elapsed_ms: n,
      };
    }),
  ];
}

const loop = recordsOf('start', 'check', 'fix', 'check', 'exit');

test.for([
  ['check', undefined, false, 's4', 5],
  ['check', 1, false, 's2', 3],
  ['check', 1, true, 's1', 2],
  ['check', 2, true, 's3', 4],
  ['start', undefined, true, 's0', 1],
  ['exit', 1, false, 's5', 6],
] as const)('%s visit %s, before: %s', ([node, visit, before, snapshot, count]) => {
  const moment = findMoment(loop, { node, visit }, before);
  expect(moment).toMatchObject({ ok: true, snapshot, before, visit: { node } });
  expect(moment.ok && moment.records).toEqual(loop.slice(0, count));
});

test.for([
  [loop, 'chek', undefined, 'did you mean "check"? finished are: start, check@1-2, fix, exit'],
  [loop, 'nowhere', 1, 'finished are: start, check@1-2, fix, exit'],
  [loop, 'check', 3, 'its last one is 2'],
  [recordsOf(), 'start', undefined, 'no visit yet'],
  [recordsOf(...Array.from({ length: 30 }, (_, n) => `n${n}`)), 'zzz', undefined, 'n19 and 10 more'],
] as const)('a missing execution is reported with the existing ones', ([records, node, visit, words]) => {
  const none = findMoment(records, { node, visit }, false);
  expect(none.ok ? '' : `${none.why}; ${none.fix}`).toContain(words);
});
