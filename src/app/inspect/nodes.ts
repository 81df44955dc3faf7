/** The nodes that a run has executed, each once with what its executions took together. */
import type { RunReader } from '../../run/open-run.ts';
import { costsIn } from '../run/budget.ts';
import type { ExecutionStanding } from './executions.ts';
import type { InspectedRun } from './read-run.ts';
import type { NodeRow } from './shapes.ts';

/** In the order in which the run came to them first. */
export async function nodeRowsOf(run: InspectedRun): Promise<NodeRow[]> {
  const sandboxes = await sandboxesIn(run.reader);
  return nodeTotalsOf(run.executions, run).map((row) => ({
    ...row,
    sandbox: sandboxes.get(row.node) ?? null,
  }));
}

/** What the journal has of a node. */
export type NodeTotals = Omit<NodeRow, 'sandbox'>;

/** The same without what only the trace says. */
export function nodeTotalsOf(
  executions: readonly ExecutionStanding[],
  { history, manifest }: Pick<InspectedRun, 'history' | 'manifest'>,
): readonly NodeTotals[] {
  const costs = costsIn(history.calls, manifest);
  const rows = new Map<string, NodeTotals>();
  const retries = new Map<string, number>(
    history.records.flatMap((one): [string, number][] =>
      one.type === 'Visit' ? [[one.node, one.retries]] : [],
    ),
  );
  for (const execution of executions) {
    const { node, type, visit, state, waiting, class: failureClass, reason, took_ms } = execution;
    const so = rows.get(node);
    rows.set(node, {
      ...{ node, type, visits: visit, outcome: state, waiting },
      ...{ failure_class: failureClass, failure_reason: reason },
      retries: retries.get(node) ?? 0,
      took_ms: (so?.took_ms ?? 0) + took_ms,
      spent: costs.of(node),
    });
  }
  return [...rows.values()];
}

/** By node, what confined the programs of its latest execution, as the trace says. */
async function sandboxesIn(reader: RunReader): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  // One record after the other: a trace may be larger than the memory.
  for await (const entry of reader.view('trace')) {
    if (entry.kind !== 'record') continue;
    const { type, sandbox, node_id } = entry.record;
    if (type === 'NodeInputCaptured' && typeof sandbox === 'string') found.set(String(node_id), sandbox);
  }
  return found;
}
