/** Values as they go into a run's records: secrets are taken out of their texts, never out of their structure, and what no
 *  record can hold is not there from the beginning, so that a run which goes on from its records has what it had. */
import type { Json, JsonObject } from '../model/json.ts';

export function maskedValue(value: Json, mask: (text: string) => string): Json {
  if (typeof value === 'string') return mask(value);
  // JSON can write a number that nobody can read back, such as 1e999.
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (Array.isArray(value)) return value.map((item: Json) => maskedValue(item, mask));
  return typeof value === 'object' && value !== null ? maskedObject(value as JsonObject, mask) : value;
}

export const maskedObject = (object: JsonObject, mask: (text: string) => string): JsonObject =>
  Object.fromEntries(
    Object.entries(object)
      .filter(([key]) => key !== '__proto__')
      .map(([key, value]) => [mask(key), maskedValue(value, mask)]),
  );
