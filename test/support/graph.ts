/** A pipeline for a test, from its text. */

import { kinds } from '../../src/app/kinds.ts';
import { nothingSpent } from '../../src/core/budget/usage.ts';
import type { NodeKind } from '../../src/core/contracts/node-kind.ts';
import type { Step } from '../../src/core/decision.ts';
import type { Diagnostic } from '../../src/core/diagnostic.ts';
import type { Graph } from '../../src/core/graph.ts';
import type { Checkpoint, RunState } from '../../src/core/records/checkpoint.ts';
import { type Typed, typed } from '../../src/core/settings/typing.ts';
import { readGraph } from '../../src/dot/read.ts';
import { visitOf } from '../../src/engine/event-log.ts';
import { lint } from '../../src/lint/index.ts';
import type { CallRead, LintOptions } from '../../src/lint/rule.ts';
import { afterRecord } from '../../src/run/run-journal.ts';

/** Reads and types a text with all node types; fails loudly when it does not read. */
export function typedText(text: string, file = 'test.dot'): Typed<NodeKind> {
  const { graph, diagnostics } = readGraph(file, text);
  if (graph === undefined || diagnostics.length > 0)
    throw new Error(diagnostics.map((d) => d.message).join('\n'));
  return typed(graph, kinds);
}

/** Reads `body` as the inside of a digraph. */
export const graphOf = (body: string): Graph => typedText(`digraph t {\n${body}\n}\n`).graph;

/** What `factory validate` finds in a text. */
export const findingsOf = (text: string, options: LintOptions = {}): readonly Diagnostic[] =>
  lint(typedText(text), options);

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

/** The state after a step, as the journal gives it. */
export function advanced(state: RunState, taken: Step, type = 'tool'): RunState {
  const line = visitOf(
    type,
    taken,
    { state, snapshot: { id: 's' } },
    {
      outcome: taken.change.now.last_outcome,
      contextBefore: state.context,
      counts: { retries: 0, calls: 0 },
      snapshot: { id: 's', tree: new Map() },
      usage: undefined,
      commands: [],
      tookMs: 0,
      elapsedMs: state.elapsed_ms,
      spent: nothingSpent,
      asked: undefined,
      artifacts: { hashes: {}, more: 0 },
    },
  );
  return afterRecord(state, { ...line, epoch: state.epoch });
}

/** What the call `a` of a pipeline calls, by the name of the file. */
export const calledBy = (pipeline: string): CallRead => {
  if (pipeline.includes('gone.dot')) return { code: 'call-file', message: 'there is no file', fix: '' };
  if (pipeline.includes('itself.dot')) return { code: 'call-nesting', message: 'a circle', fix: '' };
  return {
    graph: graphOf('vars="diff, lens=all"; start; exit; b [prompt="Set verdict."]; start -> b -> exit'),
  };
};
