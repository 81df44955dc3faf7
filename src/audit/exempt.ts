/** Which nodes may read what is sealed. */
import { flag } from '../model/attribute.ts';
import type { Graph, Node } from '../model/graph.ts';

/** Whether the node says of its agent that it may read what is sealed; what it is told, says and writes is no leak. */
export const mayRead = (node: Node): boolean =>
  [...node.attrs.values()].some(({ key, value }) => {
    if (!key.endsWith('.allow_read_scenarios')) return false;
    const read = flag().read(value);
    return read.ok && read.value;
  });

export const mayReadIn =
  (graph: Graph | undefined) =>
  (id: string): boolean => {
    const node = graph?.nodes.get(id);
    return node !== undefined && mayRead(node);
  };
