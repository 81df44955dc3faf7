/** An edge leads to a node that is not declared: it is created, as in Graphviz. */
import { nearestAmong } from '../../model/nearest.ts';
import { finding, type Rule } from '../rule.ts';

export const undeclaredNode: Rule = ({ graph, incoming, kinds }) => {
  const declared = [...graph.nodes.values()].filter((node) => node.declared).map(({ id }) => id);
  const nearest = nearestAmong(declared);
  return (
    [...graph.nodes.values()]
      // Ids such as exit define the kind of the node.
      .filter((node) => !node.declared && incoming.has(node.id))
      .filter((node) => !kinds.some((kind) => kind.ids.includes(node.id)))
      .map(({ id, span }) => {
        const meant = nearest(id);
        return finding(graph, 'undeclared-node', 'warning', {
          message: `an edge leads to "${id}", which is not declared; it becomes a node without attributes`,
          span,
          fix: meant === undefined ? `declare it: ${id} [label="…"]` : `declare it, or write ${meant}`,
        });
      })
  );
};
