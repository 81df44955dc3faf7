/** Normalises a model's work orders: strings trimmed, paths in normal form, duplicates dropped. */

import type { Json, JsonObject } from '../model/json.ts';
import { strip } from '../model/json-text.ts';
import { normalizePath } from '../model/work-order.ts';

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `Array.isArray` that keeps the element type of a readonly list. */
export const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** A work order in normal form; keys, their order and values of unexpected types are unchanged. */
export function normalizeOrder(order: JsonObject): JsonObject {
  return mapValues(order, (key, value) => {
    const stripped = stripAll(value);
    switch (key) {
      case 'allowed_files':
      case 'context_files':
        return withoutRepetitions(mapItems(stripped, normalizeText));
      case 'forbidden':
      case 'acceptance_commands':
        return withoutRepetitions(stripped);
      case 'preconditions':
      case 'postconditions':
        return mapItems(stripped, (item) =>
          isObject(item) ? mapValues(item, (k, v) => (k === 'path' ? normalizeText(v) : v)) : item,
        );
      default:
        return stripped;
    }
  });
}

function stripAll(value: Json): Json {
  if (typeof value === 'string') return strip(value);
  if (isList(value)) return value.map(stripAll);
  return isObject(value) ? mapValues(value, (_, v) => stripAll(v)) : value;
}

// fromEntries defines keys instead of assigning them, so a key called `__proto__` stays an ordinary key.
const mapValues = (object: JsonObject, map: (key: string, value: Json) => Json): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(key, value)]));

const mapItems = (value: Json, map: (item: Json) => Json): Json => (isList(value) ? value.map(map) : value);

const normalizeText = (value: Json): Json =>
  typeof value === 'string' && value !== '' ? normalizePath(value) : value;

function withoutRepetitions(value: Json): Json {
  if (!isList(value)) return value;
  const seen = new Set<string>();
  return value.filter((item) => {
    if (typeof item !== 'string') return true;
    if (seen.has(item)) return false;
    seen.add(item);
    return true;
  });
}
