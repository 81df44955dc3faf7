/** A view of a work order for the checks: values of the wrong type are missing. */
import type { Json, JsonObject } from '../model/json.ts';
import { splitWords } from '../policy/words.ts';
import { isList, isObject } from './normalize.ts';

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
