/** The answer that agent programs are asked for: closed, every field required, as strict schemas want it. */
import type { JsonObject } from '../../model/json.ts';
import { agentOutcomes } from '../../model/outcome.ts';

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const closed = (properties: JsonObject): JsonObject => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties,
});

export const answerProperties: JsonObject = {
  outcome: { type: 'string', enum: agentOutcomes },
  preferred_next_label: text,
  suggested_next_ids: texts,
  context_updates: closed({}),
  verification_plan: { anyOf: [closed({ files: texts, commands: texts }), { type: 'null' }] },
  notes: text,
  failure_reason: text,
};
export const answerSchema: JsonObject = closed(answerProperties);

/** What is added to a prompt so that the last word of the program is an answer. */
export const answerRequest =
  'When the work is done, reply with one JSON object that fits the given output schema, and with nothing else.';
