/** What a tool reports in addition to its exit code: the JSON object in the file `$FACTORY_OUTPUT`, and its state in
 *  `$FACTORY_STATE`. */

import * as z from 'zod';
import { type Json, type JsonObject, mostGivenLevels, parseJson } from '../model/json.ts';
import { nearest } from '../model/nearest.ts';
import { once } from '../model/once.ts';
import { answeredOutcome, failureClasses, type OutcomeWord } from '../model/outcome.ts';
import { reservedKeyIn } from '../policy/reserved.ts';

const json: () => z.ZodType<Json> = once(() => z.json() as z.ZodType<Json>);

const writtenOutputSchema = once(() =>
  z.strictObject({
    outcome: z.string().optional(),
    preferred_next_label: z.string().optional(),
    suggested_next_ids: z.array(z.string()).optional(),
    context_updates: z.record(z.string(), json()).optional(),
    notes: z.string().optional(),
    failure_reason: z.string().optional(),
    failure_class: z.enum(failureClasses).optional(),
  }),
);
type WrittenOutput = z.infer<ReturnType<typeof writtenOutputSchema>>;

/** What a tool reported. A word of the pipeline's own as outcome is a success with this word as its label. */
export type ToolOutput = Omit<WrittenOutput, 'outcome'> & { readonly outcome?: OutcomeWord };

/** Bytes; a larger file is refused. */
export const outputLimit = 1024 * 1024;

/** For an unknown key: the nearest known key, else all of them. */
function meant(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code !== 'unrecognized_keys' || issue.path.length > 0) return '';
  const keys = Object.keys(writtenOutputSchema().shape);
  const near = nearest(issue.keys[0] ?? '', keys);
  return near === undefined ? `; there are ${keys.join(', ')}` : `; did you mean "${near}"?`;
}

/** The object, or why it is invalid. `text` is undefined if the tool wrote nothing. */
export function parseOutput(
  text: string | undefined,
): { readonly output: ToolOutput } | { readonly problem: string } {
  if (text === undefined) return { output: {} };
  const parsed = jsonOf(text, '$FACTORY_OUTPUT');
  if ('problem' in parsed) return parsed;
  const read = writtenOutputSchema().safeParse(parsed.value);
  if (!read.success) {
    const first = read.error.issues[0];
    const where = first === undefined || first.path.length === 0 ? '' : ` at ${first.path.join('.')}`;
    return { problem: `$FACTORY_OUTPUT is not valid${where}: ${first?.message ?? 'unknown'}${meant(first)}` };
  }
  const reserved = reservedKeyIn((read.data.context_updates ?? {}) as JsonObject);
  if (reserved !== undefined)
    return { problem: `$FACTORY_OUTPUT sets "${reserved}", a key of the engine's own` };
  return withOutcome(read.data);
}

function withOutcome({
  outcome: word,
  ...rest
}: WrittenOutput): { readonly output: ToolOutput } | { readonly problem: string } {
  if (word === undefined) return { output: rest };
  const answered = answeredOutcome(word);
  if (answered === undefined)
    return {
      problem: `$FACTORY_OUTPUT is not valid at outcome: ${JSON.stringify(word.slice(0, 80))} is no outcome and no single word`,
    };
  const { outcome, label } = answered;
  if (label === undefined) return { output: { ...rest, outcome } };
  // A class names the cause of a failure.
  const failed = rest.failure_class !== undefined;
  return { output: { ...rest, preferred_next_label: label, outcome: failed ? 'fail' : outcome } };
}

/** The state of the run's tools where it differs from `before`, or why it is invalid. A missing file leaves it unchanged. */
export function parseToolState(
  text: string | undefined,
  before: JsonObject | undefined,
): { readonly changed: JsonObject } | { readonly problem: string } | Record<string, never> {
  if (text === undefined) return {};
  const parsed = jsonOf(text, '$FACTORY_STATE');
  if ('problem' in parsed) return parsed;
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { problem: '$FACTORY_STATE is not a JSON object' };
  return JSON.stringify(value) === JSON.stringify(before) ? {} : { changed: value as JsonObject };
}

function jsonOf(text: string, file: string): { readonly value: unknown } | { readonly problem: string } {
  if (Buffer.byteLength(text) > outputLimit) return { problem: `${file} is larger than 1 MiB` };
  try {
    return { value: parseJson(text, mostGivenLevels) };
  } catch (error) {
    return { problem: `${file} is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}
