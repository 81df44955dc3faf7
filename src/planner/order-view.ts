/** A view of a work order for the checks: values of the wrong type are missing. */
import { strip } from '../core/answer-json.ts';
import { isObject, type Json, type JsonObject } from '../core/json.ts';
import { normalizePath } from '../core/orders/work-order.ts';
import { splitWords } from '../core/policy/words.ts';

export type CommandView = {
  readonly text: string;
  /** Undefined if the command cannot be split; then `problem` is the reason. */
  readonly words: readonly string[] | undefined;
  readonly problem: string;
  /** The text of the program in a `python -c PROGRAM …` command. */
  readonly python: string | undefined;
};

export type ConditionView = { readonly kind: Json | undefined; readonly path: Json | undefined };

export type OrderView = {
  readonly raw: JsonObject;
  /** From 0. */
  readonly index: number;
  /** Undefined if the key is missing or its value is not a string. */
  readonly id: string | undefined;
  readonly commands: readonly CommandView[];
  readonly allowed: readonly string[];
  readonly context: readonly string[];
  readonly preconditions: readonly ConditionView[];
  readonly postconditions: readonly ConditionView[];
};

/** Parses a normalised order once, for all checks. */
export function viewOrder(raw: JsonObject, index: number): OrderView {
  return {
    raw,
    index,
    id: typeof raw['id'] === 'string' ? raw['id'] : undefined,
    commands: strings(raw['acceptance_commands']).map(viewCommand),
    allowed: strings(raw['allowed_files']),
    context: strings(raw['context_files']),
    preconditions: conditions(raw['preconditions']),
    postconditions: conditions(raw['postconditions']),
  };
}

/** The paths that exist after an order, by its postconditions. */
export const promised = ({ postconditions }: Pick<OrderView, 'postconditions'>): readonly string[] =>
  postconditions.flatMap(({ kind, path }) =>
    kind === 'file_exists' && typeof path === 'string' ? [path] : [],
  );

/** As `promised`, for an order without a view. */
export const promisedBy = (raw: JsonObject): readonly string[] =>
  promised({ postconditions: conditions(raw['postconditions']) });

const strings = (value: Json | undefined): readonly string[] =>
  isList(value) ? value.filter((item) => typeof item === 'string') : [];

const conditions = (value: Json | undefined): readonly ConditionView[] =>
  isList(value) ? value.filter(isObject).map((c) => ({ kind: c['kind'], path: c['path'] })) : [];

function viewCommand(text: string): CommandView {
  const split = splitWords(text);
  if ('problem' in split) return { text, words: undefined, problem: split.problem, python: undefined };
  const [program, flag, source] = split.words;
  const python = program === 'python' && flag === '-c' ? source : undefined;
  return { text, words: split.words, problem: '', python };
}

/* Normalises a model's work orders: strings trimmed, paths in normal form, duplicates dropped. */

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
