/** An edge leads to a node that nothing declares: it is created, as Graphviz does. */
import { nearestAmong } from '../../model/nearest.ts';
import { finding, type Rule } from '../rule.ts';

export const undeclaredNode: Rule = ({ graph, incoming, kinds }) => {
  const declared = [...graph.nodes.values()].filter((node) => node.declared).map(({ id }) => id);
  const nearest = nearestAmong(declared);
  return (
    [...graph.nodes.values()]
      // An id that says what the node is says enough.
      .filter((node) => !node.declared && incoming.has(node.id))
      .filter((node) => !kinds.some((kind) => kind.ids.includes(node.id)))
      .map(({ id, span }) => {
        const meant = nearest(id);
        return finding(graph, 'undeclared-node', 'warning', {
          message: `an edge leads to "${id}", which is not declared; it becomes a node without attributes of its own`,
          span,
          fix: meant === undefined ? `declare it: ${id} [label="…"]` : `declare it, or write ${meant}`,
        });
      })
  );
};
