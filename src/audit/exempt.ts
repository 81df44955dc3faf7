/** Nodes that may read the holdout: their prompts, answers and files are no leaks. */
import type { Graph } from '../model/graph.ts';
import { mayReadHoldout } from '../model/settings/node.ts';

export const mayReadIn =
  (graph: Graph | undefined) =>
  (id: string): boolean => {
    const node = graph?.nodes.get(id);
    return node !== undefined && mayReadHoldout(node);
  };
