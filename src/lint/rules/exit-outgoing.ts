/** Nothing leaves an exit. */
import { finding, nodesOf, type Rule } from '../rule.ts';

export const exitOutgoing: Rule = {
  code: 'exit-outgoing',
  severity: 'error',
  rule: 'No edge leaves an exit.',
  wrong: 'start; exit; a [label=a]; start -> a -> exit; exit -> a',
  fix: 'remove the edge',
  needs: 'whole graph',
  check: (subject) =>
    nodesOf(subject, 'exit').flatMap(({ id }) =>
      (subject.outgoing.get(id) ?? []).map((edge) => {
        // Nothing leads to the exit: the edge is the wrong way round.
        const isReversed = !subject.incoming.has(id);
        return finding(subject.graph, exitOutgoing, {
          message: `the exit "${id}" cannot have outgoing edges, and this one leads to "${edge.to}"`,
          span: edge.span,
          fix: isReversed ? `write ${edge.to} -> ${id}` : 'remove the edge, or give the node another shape',
          repairs: isReversed ? [{ edge, instead: { ...edge, from: edge.to, to: id } }] : [],
        });
      }),
    ),
};
