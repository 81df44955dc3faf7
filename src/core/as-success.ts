/** How a run would have ended if a node that failed had succeeded. Pure. */
import type { RunEnding } from './decision.ts';
import type { Graph } from './graph.ts';
import { type Outcome, succeeded } from './outcome.ts';
import { openFailuresAfter } from './overridden.ts';
import type { RunState } from './records/checkpoint.ts';
import { step } from './step.ts';

/** What an execution leads through without anything being executed. */
export const passedOn: ReadonlySet<string> = new Set(['conditional', 'exit']);

/** The end that its success leads to; else the first node that would have been executed, of which nothing is known. `before`: the state
 *  right before the node; `updates`: those that it reported. */
export function endAsSuccess(
  graph: Graph,
  before: RunState,
  failed: { readonly node: string; readonly node_type: string; readonly updates: Outcome['updates'] },
): RunEnding | { readonly next: string } {
  const seen = new Set<string>();
  let state = before;
  let at = { node: failed.node, type: failed.node_type, executable: true };
  let outcome = succeeded({ updates: failed.updates });
  for (;;) {
    const { change, decision, fork } = step(graph, state, outcome, { ...at, feedback: {}, at: state.at });
    if (decision.do === 'finish') return decision.ending;
    if (decision.do !== 'run' || fork !== undefined) return { next: change.now.next_node ?? at.node };
    const type = graph.nodes.get(decision.node)?.type ?? '';
    if (!passedOn.has(type) || seen.has(decision.node)) return { next: decision.node };
    seen.add(decision.node);
    const { node, visit } = change;
    const finished = { node, node_type: at.type, visit, outcome };
    state = {
      ...state,
      ...change.now,
      visits: { ...state.visits, [node]: visit },
      outcomes: { ...state.outcomes, [node]: change.outcome },
      open_failures: [...openFailuresAfter(state.open_failures ?? [], finished)],
    };
    at = { node: decision.node, type, executable: false };
    outcome = succeeded();
  }
}
