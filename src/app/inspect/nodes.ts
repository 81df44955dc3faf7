/** The nodes that a run has executed, each once with what its executions took together. */
import type { Spent } from '../../core/budget/usage.ts';
import { layout } from '../../core/records/layout.ts';
import { openCostLedger } from '../../engine/cost-ledger.ts';
import { readJournal } from '../../run/journal-read.ts';
import { pricesOf } from '../run/budget.ts';
import type { InspectedRun } from './read-run.ts';
import type { ExecutionRow } from './shapes.ts';

export type NodeRow = {
  readonly node: string;
  readonly type: string;
  /** Executions, the unfinished one included. */
  readonly visits: number;
  /** Of the latest execution. */
  readonly outcome: ExecutionRow['state'];
  readonly failure_class: ExecutionRow['class'];
  readonly failure_reason: string;
  /** Over all executions. */
  readonly retries: number;
  readonly took_ms: number;
  readonly spent: Spent;
};

/** In the order in which the run came to them first. */
export function nodeRowsOf({ executions, history, manifest }: InspectedRun): readonly NodeRow[] {
  const costs = openCostLedger(history.calls, pricesOf(manifest), () => {});
  const rows = new Map<string, NodeRow>();
  const retries = new Map<string, number>(
    history.records.flatMap((one): [string, number][] =>
      one.type === 'Visit' ? [[one.node, one.retries]] : [],
    ),
  );
  for (const { node, type, visit, state, class: failureClass, reason, took_ms } of executions) {
    const so = rows.get(node);
    rows.set(node, {
      ...{ node, type, visits: visit, outcome: state, failure_class: failureClass, failure_reason: reason },
      retries: retries.get(node) ?? 0,
      took_ms: (so?.took_ms ?? 0) + took_ms,
      spent: costs.of(node),
    });
  }
  return [...rows.values()];
}

/** By node, what confined the programs of its latest execution, as the trace says. */
export async function sandboxesIn(dir: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  // One record after the other: a trace may be larger than the memory.
  for await (const entry of readJournal(layout(dir).trace)) {
    if (entry.kind !== 'record') continue;
    const { type, sandbox, node_id } = entry.record;
    if (type === 'NodeInputCaptured' && typeof sandbox === 'string') found.set(String(node_id), sandbox);
  }
  return found;
}
