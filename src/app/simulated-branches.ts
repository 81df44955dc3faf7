/** Where branches of a simulation begin and meet. */
import { asText } from '../core/context.ts';
import type { StepFacts } from '../core/decision.ts';
import { itemOf } from '../core/for-each.ts';
import { fanOutType, type Graph, type Node } from '../core/graph.ts';
import { type JoinResult, joinResult, joinRulesIn } from '../core/join.ts';
import { own } from '../core/json.ts';
import { forkOverItems } from '../core/lane-graph.ts';
import type { Outcome } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { BranchEnd, Fork } from '../core/records/fork.ts';
import { expand } from '../core/references.ts';

/** How a branch ends that is not walked any more. */
export const cancelledEnd: BranchEnd = {
  ...{ ok: false, status: 'cancelled', class: null },
  reason: 'the other branches have decided the join',
};

export type Met = Pick<JoinResult, 'outcome'> & {
  readonly ends: readonly { readonly id: string; readonly end: BranchEnd }[];
};

/** What becomes of the branches that meet in a node; no file conflicts with another. */
export function metIn(graph: Graph, { context }: RunState, fork: Fork): Met {
  const rules = joinRulesIn(graph, fork);
  const branches = Object.entries(fork.branches).map(([id, cursor]) => ({
    id,
    end: cursor.ended ?? cancelledEnd,
    last: cursor.last_outcome?.status,
    notes: '',
    files: { created: [], modified: [], deleted: [] },
    context: cursor.context,
  }));
  const { outcome } = joinResult(rules, branches, context);
  return { outcome, ends: branches.map(({ id, end }) => ({ id, end })) };
}

/** The branches of a list: of one that the context does not have yet, a single item is assumed. */
export function opensList(
  graph: Graph,
  node: Node,
  { context }: RunState,
  { status }: Outcome,
): StepFacts['opens'] {
  if (node.type !== fanOutType || status === 'fail') return undefined;
  const lookup = (kind: string, key: string): string | undefined => {
    const value = kind === 'ctx' ? own(context, key) : undefined;
    return value === undefined ? undefined : asText(value);
  };
  const goal = graph.settings.goal?.text;
  const opened = forkOverItems(graph, node, (text) => {
    const read = expand(text, { goal, lookup, item: itemOf(graph) }, 'plain');
    return 'unknown' in read ? { text: '["item"]' } : read;
  });
  return opened === undefined || 'problem' in opened ? undefined : opened;
}
