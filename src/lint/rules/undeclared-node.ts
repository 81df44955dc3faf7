/** An edge names a node that is not declared: it is created, as in Graphviz. An error where that leaves the node that was
 *  meant unreached. */
import { finding, type Rule } from '../rule.ts';
import { misspeltIds, undeclaredNodes } from '../unread.ts';

export const undeclaredNode: Rule = {
  code: 'undeclared-node',
  severity: 'warning',
  rule: 'A node that only an edge mentions may be a misspelling (an error where no path leads to the node that was meant).',
  wrong: 'start; exit; start -> a -> exit',
  fix: 'declare it, or fix the id',
  needs: 'whole graph',
  check: (subject) => {
    const { graph, incoming, outgoing } = subject;
    const misspelt = misspeltIds(subject);
    return [...undeclaredNodes(subject)].flatMap(([id, meant]) => {
      const node = graph.nodes.get(id);
      const slip = misspelt.get(id);
      // A node that nothing leads to is reported as unreachable.
      if (node === undefined || (slip === undefined && !incoming.has(id))) return [];
      const way = incoming.has(id) ? 'leads to' : 'begins at';
      const isEnd = !outgoing.has(id);
      const then = isEnd
        ? ', and nothing leaves it: a run that reaches it fails'
        : '; it becomes a node without attributes';
      const severity = slip?.isLost === true ? 'error' : 'warning';
      return [
        finding(
          graph,
          { ...undeclaredNode, severity },
          {
            message: `an edge ${way} "${id}", which is not declared${slip === undefined ? then : ''}`,
            span: node.span,
            fix:
              slip !== undefined
                ? `write ${slip.meant}`
                : meant === undefined
                  ? `declare it: ${id} [label="…"]`
                  : `declare it, or write ${meant}`,
            repairs:
              slip !== undefined
                ? [{ id, meant: slip.meant }]
                : isEnd
                  ? [{ node: id, shape: 'Msquare' }]
                  : [],
          },
        ),
      ];
    });
  },
};
