/** What limits a branch in its graph: where it ends, and where its goal gates may send it back to. Pure. */
import { branchAt } from './branches.ts';
import type { Graph, Node } from './graph.ts';
import { laneGraph } from './lane-graph.ts';
import type { OutcomeWord } from './outcome.ts';
import type { BranchEnd, Cursor, Fork } from './records/fork.ts';

export type LaneBounds = {
  /** The graph with its nodes: of a call that of the called pipeline. */
  readonly graph: Graph;
  /** A branch that would enter one of these has ended: the join, or the exits of a called pipeline. */
  readonly joins: ReadonlySet<string>;
  /** Its nodes, without those of branches in it. */
  readonly nodes: ReadonlySet<string>;
  /** A call: nothing of it is looked at again once it has ended. */
  readonly call?: true;
  /** Keys of its context that a restart keeps. */
  readonly given?: readonly string[];
};

/** `graph`: of the lane in which the fork is open. */
export function laneBounds(
  graph: Graph,
  fork: Fork,
  id: string,
  { given }: Pick<Cursor, 'given'>,
): LaneBounds {
  const own = laneGraph(graph, fork, id);
  const isCall = fork.call === true;
  const nodes = [...own.nodes.values()];
  const isExit = ({ type }: Node): boolean => type === 'exit';
  const ids = (of: readonly Node[]): ReadonlySet<string> => new Set(of.map((node) => node.id));
  return {
    graph: own,
    joins: isCall ? ids(nodes.filter(isExit)) : new Set([fork.join]),
    nodes: ids(nodes.filter((node) => branchAt(own, node.id) === (isCall ? undefined : id))),
    ...(isCall ? { call: true } : {}),
    ...(given === undefined ? {} : { given }),
  };
}

/** The end of a branch that has reached its join after a node with this outcome. */
export const reachedJoin = ({
  status,
  reason,
  class: of,
}: {
  readonly status: OutcomeWord;
  readonly reason: string;
  readonly class: BranchEnd['class'];
}): BranchEnd =>
  status === 'fail'
    ? { ok: false, status: 'failed', reason, class: of }
    : { ok: true, status: 'completed', reason: '', class: null };
