/** Validates a model's answer against a JSON schema. */
import * as z from 'zod';
import { type JsonObject, mostGivenLevels, parseJson } from '../core/json.ts';

type Readable = Parameters<typeof z.fromJSONSchema>[0];

/** Why this schema cannot be used, or undefined. */
export function unusableSchema(schema: JsonObject): string | undefined {
  try {
    z.fromJSONSchema(schema as Readable);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Why `text` is not JSON that fits `schema`, a usable one; or undefined. */
export function schemaProblem(text: string, schema: JsonObject): string | undefined {
  let value: unknown;
  try {
    value = parseJson(text, mostGivenLevels);
  } catch (error) {
    return `it is not JSON (${error instanceof Error ? error.message : String(error)})`;
  }
  const read = z.fromJSONSchema(schema as Readable).safeParse(value);
  if (read.success) return undefined;
  const first = read.error.issues[0];
  return `${first?.path.join('.') || 'top level'}: ${first?.message ?? 'unknown'}`;
}
