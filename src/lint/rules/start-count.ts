/** A pipeline has exactly one start. */
import { finding, nodesOf, type Rule } from '../rule.ts';

const fix = 'keep one node with shape=Mdiamond or the id start';

export const startCount: Rule = {
  code: 'start-count',
  severity: 'error',
  rule: 'There is exactly one start.',
  wrong: 'a [label=a]; exit [shape=Msquare]; a -> exit',
  fix: 'add `start [shape=Mdiamond]`',
  needs: 'whole graph',
  check: (subject) => {
    const { graph } = subject;
    const [first, ...others] = nodesOf(subject, 'start');
    if (first === undefined)
      return [
        finding(graph, startCount, {
          message: 'there is no start: a pipeline has exactly one start node',
          span: graph.span,
          fix: 'add a node start with shape=Mdiamond and an edge that leaves it',
        }),
      ];
    return others.map(({ id, span }) =>
      finding(graph, startCount, {
        message: `"${id}" is a second start after "${first.id}": a pipeline has exactly one start node`,
        span,
        fix,
      }),
    );
  },
};
