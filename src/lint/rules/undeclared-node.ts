/** An edge leads to a node that is not declared: it is created, as in Graphviz. An error where that leaves the node that was
 *  meant without an edge. */
import { finding, type Rule } from '../rule.ts';
import { misspeltTargets, undeclaredTargets } from '../unread.ts';

export const undeclaredNode: Rule = {
  code: 'undeclared-node',
  severity: 'warning',
  rule: 'A node that only an edge mentions may be a misspelling (an error where no edge leads to the node that was meant).',
  wrong: 'start; exit; start -> a -> exit',
  fix: 'declare it, or fix the id',
  needs: 'whole graph',
  check: (subject) => {
    const { graph } = subject;
    const misspelt = misspeltTargets(subject);
    return [...undeclaredTargets(subject)].flatMap(([id, meant]) => {
      const node = graph.nodes.get(id);
      if (node === undefined) return [];
      const lost = misspelt.has(id);
      return [
        finding(
          graph,
          { ...undeclaredNode, severity: lost ? 'error' : 'warning' },
          {
            message: lost
              ? `an edge leads to "${id}", which is not declared, and none to "${meant}"`
              : `an edge leads to "${id}", which is not declared; it becomes a node without attributes`,
            span: node.span,
            fix: lost
              ? `write ${meant}`
              : meant === undefined
                ? `declare it: ${id} [label="…"]`
                : `declare it, or write ${meant}`,
          },
        ),
      ];
    });
  },
};
