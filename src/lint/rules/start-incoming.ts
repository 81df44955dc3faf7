/** No edge leads into the start. */
import { finding, nodesOf, type Rule } from '../rule.ts';

export const startIncoming: Rule = {
  code: 'start-incoming',
  severity: 'error',
  rule: 'No edge leads into the start.',
  wrong: 'start; exit; a [label=a]; start -> a -> exit; a -> start',
  fix: 'point it at the node after the start',
  needs: 'whole graph',
  check: (subject) =>
    nodesOf(subject, 'start').flatMap(({ id }) =>
      (subject.incoming.get(id) ?? []).map((edge) => {
        // Nothing leaves the start: the edge is the wrong way round.
        const isReversed = !subject.outgoing.has(id);
        return finding(subject.graph, startIncoming, {
          message: `the start "${id}" cannot have incoming edges, and "${edge.from}" leads to it`,
          span: edge.span,
          fix: isReversed ? `write ${id} -> ${edge.from}` : 'lead the edge to the node after the start',
          repairs: isReversed ? [{ edge, instead: { ...edge, from: id, to: edge.from } }] : [],
        });
      }),
    ),
};
