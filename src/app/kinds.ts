/** The node types of pipelines, with the attributes of all agents. */
import { agentAttributes } from '../agents/index.ts';
import { nodeKinds } from '../nodes/index.ts';

export const kinds = nodeKinds(agentAttributes);
