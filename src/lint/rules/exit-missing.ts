/** A pipeline has at least one exit. */
import { finding, nodesOf, type Rule } from '../rule.ts';

export const exitMissing: Rule = {
  code: 'exit-missing',
  severity: 'error',
  rule: 'There is an exit.',
  wrong: 'start; a [label=a]; start -> a',
  fix: 'add `done [shape=Msquare]` and an edge to it',
  needs: 'whole graph',
  check: (subject) =>
    nodesOf(subject, 'exit').length > 0
      ? []
      : [
          finding(subject.graph, exitMissing, {
            message: 'there is no exit: a pipeline has at least one exit node',
            span: subject.graph.span,
            fix: 'add a node with shape=Msquare and an edge that leads to it',
          }),
        ],
};
