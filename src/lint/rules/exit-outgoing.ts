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
      (subject.outgoing.get(id) ?? []).map(({ to, span }) =>
        finding(subject.graph, exitOutgoing, {
          message: `the exit "${id}" cannot have outgoing edges, and this one leads to "${to}"`,
          span,
          fix: 'remove the edge, or give the node another shape',
        }),
      ),
    ),
};
