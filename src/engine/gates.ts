/** Goal gates: nodes that must succeed before the run can, and where an unmet one sends the run. Pure. */
import { graphAttributes } from '../lint/words.ts';
import { readAttributes } from '../model/attribute.ts';
import type { NodeOutcome } from '../model/checkpoint.ts';
import { isGate, retryTarget } from '../model/goal-gate.ts';
import type { Graph } from '../model/graph.ts';
import type { Json } from '../model/json.ts';
import type { Context } from '../model/outcome.ts';
import { own } from '../model/own.ts';

/** How often an unmet gate sends a run back by default. */
const usualRedirects = 5;

export type Unmet = { readonly gate: string; readonly latest: NodeOutcome };

/** The executed gates whose latest outcome is neither success nor partial success. */
export const unmetGates = (
  graph: Graph,
  latestOf: (id: string) => NodeOutcome | undefined,
): readonly Unmet[] =>
  [...graph.nodes.values()].filter(isGate).flatMap(({ id: gate }) => {
    const latest = latestOf(gate);
    const met = latest === undefined || latest.status === 'success' || latest.status === 'partial_success';
    return met ? [] : [{ gate, latest }];
  });

/** Where the run goes for an unmet gate, with the context that counts it; `why` not, as the end of a sentence. */
export type Redirect =
  | { readonly target: string; readonly context: Context }
  | { readonly target?: undefined; readonly why: string };

/** The gate's target before the graph's, as often as `max_goal_gate_redirects` allows. */
export function redirect(graph: Graph, gate: string, context: Context): Redirect {
  const target = retryTarget(graph, graph.nodes.get(gate));
  if (target === undefined) return { why: '' };
  const key = `internal.goal_gate_redirects.${gate}`;
  const most = readAttributes(graph.attrs, graphAttributes).values.max_goal_gate_redirects ?? usualRedirects;
  const count = Number(own(context, key) ?? 0);
  if (count >= most)
    return { why: ` (it has sent the run back ${count} times, max_goal_gate_redirects=${most})` };
  return { target, context: { ...context, [key]: count + 1 } satisfies Record<string, Json> };
}
