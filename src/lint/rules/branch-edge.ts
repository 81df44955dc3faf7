/** A branch begins at its fan-out and ends at its join: no other edge leads into it or out of it. */
import type { BorderEdge } from '../../core/branch-problems.ts';
import { branchProblems } from '../../core/branches.ts';
import { finding, type Rule } from '../rule.ts';

export const branchEdge: Rule = {
  code: 'branch-edge',
  severity: 'error',
  rule: 'Only its fan-out leads into a branch, and only to its join leads a branch out: no edge to an exit, to another branch or past the join.',
  wrong:
    'start; exit; fork [shape=component]; a [label=a]; b [label=b]; c [label=c]; start -> fork -> a -> c -> exit; fork -> b -> c; a -> exit [condition="outcome=fail"]',
  fix: 'lead the edge to the join, and decide there or behind it',
  needs: 'whole graph',
  *check({ graph }) {
    for (const problem of branchProblems(graph)) {
      if (!('edge' in problem) || problem.what === 'empty') continue;
      yield finding(graph, branchEdge, { ...textsOf(problem), span: problem.edge.span });
    }
  },
};

function textsOf(problem: BorderEdge): { readonly message: string; readonly fix: string } {
  const { what, node, join, branch, edge, other } = problem;
  const shown = `the edge ${edge.from} -> ${edge.to}`;
  const isFirst = edge.from === node;
  const leaves = `${shown} leads out of the branch "${branch}" of "${node}"`;
  const onward = `lead it to "${join}", where the branches meet, and decide there or behind it`;
  switch (what) {
    case 'exit':
      return isFirst
        ? {
            message: `${shown} makes an exit a branch of "${node}"`,
            fix: `lead it to a node before "${join}"`,
          }
        : { message: `${leaves} to an exit: only the whole run can end`, fix: onward };
    case 'back':
      return isFirst
        ? { message: `${shown} makes the fan-out its own branch`, fix: 'remove the edge' }
        : { message: `${leaves} back to its fan-out`, fix: onward };
    case 'other':
      return {
        message: `${leaves} into the branch "${other}": a node belongs to one branch`,
        fix: `${onward}; or give each branch its own node`,
      };
    case 'enters':
      return {
        message: `${shown} leads into the branch "${branch}" of "${node}" from outside: a branch begins at its fan-out`,
        fix: `lead it to "${node}", or to a node of the same kind outside of the branch`,
      };
    default:
      return {
        message: isFirst
          ? `${shown} begins a branch from which no path leads to "${join}", where the other branches meet`
          : `${leaves}: no path leads from "${edge.to}" to "${join}", where the branches meet`,
        fix: isFirst ? `lead the branch "${branch}" to "${join}"` : onward,
      };
  }
}
