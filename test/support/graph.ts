/** A pipeline for a test, from its text. */
import { readGraph } from '../../src/dot/read.ts';
import type { Checkpoint } from '../../src/model/checkpoint.ts';
import type { Graph } from '../../src/model/graph.ts';

/** Reads `body` as the inside of a digraph; fails loudly when it does not read. */
export function graphOf(body: string): Graph {
  const { graph, diagnostics } = readGraph('test.dot', `digraph t {\n${body}\n}\n`);
  if (graph === undefined) throw new Error(diagnostics.map((d) => d.message).join('\n'));
  return graph;
}

/** The state of a run that has not made a step. */
export const freshState = (next: string, more: Partial<Checkpoint> = {}): Checkpoint => ({
  schema_version: 1,
  run_id: 'r1',
  epoch: 1,
  last_completed_node: '',
  completed_nodes: [],
  retry_counts: {},
  context: {},
  origins: {},
  next_node: next,
  arrived: null,
  steps: 0,
  visits: {},
  calls: {},
  outcomes: {},
  last_outcome: null,
  last_failure: null,
  snapshot: null,
  elapsed_ms: 0,
  status: 'running',
  ended: null,
  at: '2026-01-01T00:00:00.000Z',
  ...more,
});
