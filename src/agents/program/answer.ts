/** The answer that agent programs are asked for: closed, every field required, as strict schemas want it. */
import { lstat, readFile } from 'node:fs/promises';
import type { JsonObject } from '../../core/json.ts';
import { agentOutcomes } from '../../core/outcome.ts';
import { isMissing, removeNow } from '../../platform/files/write.ts';

/** Bytes of the longest answer. */
const longestAnswer = 10 * 1024 * 1024;

export type AnswerFile =
  | { readonly text: string }
  /** `problem` reads after "the answer"; `text` is what of it can be shown. */
  | { readonly problem: string; readonly text?: string };

/** The answer file; undefined when the program wrote none. What is no plain file of a bearable size is taken away,
 *  unless it is `evidence` that stays whatever it is. */
export async function readAnswerFile(path: string, evidence?: 'evidence'): Promise<AnswerFile | undefined> {
  let bytes: Buffer;
  try {
    const is = await lstat(path);
    // A link would make another file the answer, and a pipe would never end.
    if (!is.isFile() || is.size > longestAnswer) {
      if (evidence === undefined) removeNow(path);
      return { problem: is.isFile() ? `is larger than ${longestAnswer} bytes` : 'is no plain file' };
    }
    bytes = await readFile(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { problem: 'is not UTF-8 text', text: bytes.toString('utf8') };
  }
}

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
