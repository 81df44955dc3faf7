/** The branches of every fan-out meet in one node. */
import { branchProblems } from '../../core/branches.ts';
import { fanOutType } from '../../core/graph.ts';
import { listedNames } from '../flow/words.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

export const branchJoin: Rule = {
  code: 'branch-join',
  severity: 'error',
  rule: 'All branches of a fan-out lead to one node that joins them, on every path.',
  wrong:
    'start; exit; fork [shape=component]; a [label=a]; b [label=b]; start -> fork -> a -> exit; fork -> b -> exit',
  fix: 'a node with `shape=tripleoctagon` where they meet',
  needs: 'whole graph',
  *check(subject) {
    const { graph } = subject;
    for (const problem of branchProblems(graph)) {
      const node = graph.nodes.get(problem.node);
      if (node === undefined) continue;
      if (problem.what === 'no-join')
        yield finding(graph, branchJoin, { ...withoutJoin(problem.node, subject), span: node.span });
      if (problem.what === 'shared-join')
        yield finding(graph, branchJoin, {
          message: `the fan-out "${problem.node}" is in a branch of "${problem.outer}", and the branches of both would meet in "${problem.join}": a node joins the branches of one of them`,
          span: node.span,
          fix: `let the branches of "${problem.node}" meet before it: join_${problem.node} [shape=tripleoctagon], with an edge to "${problem.join}"`,
        });
      if (problem.what === 'empty')
        yield finding(graph, branchJoin, {
          message: `the edge ${problem.node} -> ${problem.join} leads to the join of the branches: a branch has at least one node`,
          span: problem.edge.span,
          fix: `remove the edge, or let "${problem.node}" be passed by an edge that leads to "${problem.join}" from the node before it`,
        });
    }
  },
};

function withoutJoin(id: string, { graph, outgoing }: Subject): { message: string; fix: string } {
  const edges = outgoing.get(id) ?? [];
  if (edges.length === 0)
    return {
      message: `no edge leaves the fan-out "${id}": it has no branch`,
      fix: `add an edge for each branch: ${id} -> …`,
    };
  const targets = [...new Set(edges.map(({ to }) => to))];
  const exits = [...graph.nodes.values()].filter(({ type }) => type === 'exit');
  const behind = exits.length === 1 ? ` before "${exits[0]?.id}"` : '';
  const isFirst = graph.nodes.get(targets[0] ?? '')?.type !== fanOutType;
  const which =
    targets.length === 1 ? `the branch ${listedNames(targets)}` : `the branches ${listedNames(targets)}`;
  return {
    message: `${which} of "${id}" meet${targets.length === 1 ? 's' : ''} no node that joins ${targets.length === 1 ? 'it' : 'them'}${isFirst ? '' : ' and is outside of every branch'}`,
    fix: `lead every branch to one node${behind}: join_${id} [shape=tripleoctagon]`,
  };
}
