/** Secrets taken out of values: out of their texts, never out of their structure. */
import type { Json, JsonObject } from '../model/json.ts';

export function maskedValue(value: Json, mask: (text: string) => string): Json {
  if (typeof value === 'string') return mask(value);
  if (Array.isArray(value)) return value.map((item: Json) => maskedValue(item, mask));
  return typeof value === 'object' && value !== null ? maskedObject(value as JsonObject, mask) : value;
}

export const maskedObject = (object: JsonObject, mask: (text: string) => string): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [mask(key), maskedValue(value, mask)]));
