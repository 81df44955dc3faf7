/** Which nodes may read what is sealed. */
import type { Graph, Node } from '../model/graph.ts';

/** Whether the node says of its agent that it may read what is sealed; what it is told, says and writes is no leak. */
export const mayRead = (node: Node): boolean =>
  [...node.attrs.values()].some(
    ({ key, value }) => key.endsWith('.allow_read_scenarios') && value.text.trim() === 'true',
  );

export const mayReadIn =
  (graph: Graph | undefined) =>
  (id: string): boolean => {
    const node = graph?.nodes.get(id);
    return node !== undefined && mayRead(node);
  };
