/** Masks secrets in the texts of JSON values before they enter a run's records. Values that JSON cannot hold are removed here,
 *  so that a resumed run has the same values as the uninterrupted one. */
import type { Json, JsonObject } from '../model/json.ts';

export function maskedValue(value: Json, mask: (text: string) => string): Json {
  if (typeof value === 'string') return mask(value);
  // JSON text may hold numbers that parse as Infinity, such as 1e999.
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
