/** The JSON schema of proposals. */
import type { JsonObject } from './json.ts';
import { proposalSchemaOf } from './proposal.ts';

export const proposalSchema: JsonObject = proposalSchemaOf();
