/** No edge restarts the run at an exit, which ends it. */
import { present } from '../../core/settings/types.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

export const restartExit: Rule = {
  code: 'restart-exit',
  severity: 'warning',
  rule: 'An edge with `loop_restart` leads to a node that begins a new round, not to an exit.',
  wrong: 'start; exit; a [label=a]; start -> a; a -> exit [loop_restart=true]',
  fix: 'remove loop_restart, or lead the edge to the node with which the next round begins',
  *check({ graph }: Subject) {
    for (const edge of graph.edges) {
      const attribute = present(edge.attrs, 'loop_restart');
      if (edge.restarts !== true || attribute === undefined || graph.nodes.get(edge.to)?.type !== 'exit')
        continue;
      yield finding(graph, restartExit, {
        message: `loop_restart has no effect on the edge ${edge.from} -> ${edge.to}: an exit ends the run`,
        span: attribute.keySpan,
        fix: 'remove loop_restart, or lead the edge to the node with which the next round begins',
      });
    }
  },
};
