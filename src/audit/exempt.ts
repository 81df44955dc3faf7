/** Nodes that may read the holdout. */
import { flag } from '../model/attribute.ts';
import type { Graph, Node } from '../model/graph.ts';

/** Whether the node lets its agent read the holdout (`….allow_read_scenarios`): then its prompts, answers and files are no
 *  leaks. */
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
