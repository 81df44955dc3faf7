/** The proposal's JSON schema, ready made. */
import type { JsonObject } from './json.ts';
import { proposalSchemaOf } from './proposal.ts';

export const proposalSchema: JsonObject = proposalSchemaOf();
