/** What limits a branch in its graph: where it ends, and where its goal gates may send it back to. Pure. */
import { branchAt } from './branches.ts';
import type { Graph } from './graph.ts';
import type { OutcomeWord } from './outcome.ts';
import type { BranchEnd, Cursor, Fork } from './records/fork.ts';

export type Lane = {
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
export function laneOf(graph: Graph, fork: Fork, id: string, cursor: Pick<Cursor, 'given'>): Lane {
  const { given } = cursor;
  const more = given === undefined ? {} : { given };
  if (fork.call === true) {
    const called = graph.children?.get(fork.node) ?? graph;
    const nodes = [...called.nodes.values()];
    const exits = nodes.filter(({ type }) => type === 'exit').map((node) => node.id);
    const inner = nodes.map((node) => node.id).filter((node) => branchAt(called, node) === undefined);
    return { graph: called, joins: new Set(exits), nodes: new Set(inner), call: true, ...more };
  }
  const inner = [...graph.nodes.keys()].filter((node) => branchAt(graph, node) === id);
  return { graph, joins: new Set([fork.join]), nodes: new Set(inner), ...more };
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
