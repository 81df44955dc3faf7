/** The node types of pipelines, with the attributes of all agents. */
import { agentAttributes } from '../agents/index.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import { type Graph, ownKindsIn } from '../core/graph.ts';
import { nodeKinds } from '../nodes/index.ts';

/** Those of factory itself. */
export const kinds = nodeKinds(agentAttributes);

/** Those of a pipeline: with the own types of its project that it uses. */
export function kindsOf(graph: Pick<Graph, 'own' | 'children'>): readonly NodeKind[] {
  const own = ownKindsIn(graph);
  return own.length === 0 ? kinds : [...kinds, ...own];
}
