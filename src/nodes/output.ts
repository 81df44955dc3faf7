/** The report of a tool in addition to its exit code: the JSON object in the file `$FACTORY_OUTPUT`. */
import * as z from 'zod';
import { type Json, type JsonObject, mostGivenLevels, parseJson } from '../model/json.ts';
import { nearest } from '../model/nearest.ts';
import { failureClasses, outcomeSynonyms, outcomeWords } from '../model/outcome.ts';
import { own } from '../model/own.ts';
import { reservedKeyIn } from '../policy/reserved.ts';

const outcomeWord = z.preprocess(
  (v) => (typeof v === 'string' ? (own(outcomeSynonyms, v) ?? v) : v),
  z.enum(outcomeWords),
);
const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;

export const ToolOutput = z.lazy(() =>
  z.strictObject({
    outcome: outcomeWord.optional(),
    preferred_next_label: z.string().optional(),
    suggested_next_ids: z.array(z.string()).optional(),
    context_updates: z.record(z.string(), json).optional(),
    notes: z.string().optional(),
    failure_reason: z.string().optional(),
    failure_class: z.enum(failureClasses).optional(),
  }),
);
export type ToolOutput = z.infer<typeof ToolOutput>;

/** Bytes; a larger file is refused. */
export const outputLimit = 1024 * 1024;

/** For an unknown key: the nearest known key, else all of them. */
function meant(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code !== 'unrecognized_keys' || issue.path.length > 0) return '';
  const keys = Object.keys(ToolOutput.unwrap().shape);
  const near = nearest(issue.keys[0] ?? '', keys);
  return near === undefined ? `; there are ${keys.join(', ')}` : `; did you mean "${near}"?`;
}

/** The object, or why it is invalid. `text` is undefined if the tool wrote nothing. */
export function parseOutput(
  text: string | undefined,
): { readonly output: ToolOutput } | { readonly problem: string } {
  if (text === undefined) return { output: {} };
  if (Buffer.byteLength(text) > outputLimit) return { problem: '$FACTORY_OUTPUT is larger than 1 MiB' };
  let value: unknown;
  try {
    value = parseJson(text, mostGivenLevels);
  } catch (error) {
    return {
      problem: `$FACTORY_OUTPUT is not JSON: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  const read = ToolOutput.safeParse(value);
  if (!read.success) {
    const first = read.error.issues[0];
    const where = first === undefined || first.path.length === 0 ? '' : ` at ${first.path.join('.')}`;
    return { problem: `$FACTORY_OUTPUT is not valid${where}: ${first?.message ?? 'unknown'}${meant(first)}` };
  }
  const reserved = reservedKeyIn((read.data.context_updates ?? {}) as JsonObject);
  if (reserved !== undefined)
    return { problem: `$FACTORY_OUTPUT sets "${reserved}", a key of the engine's own` };
  return { output: read.data };
}
