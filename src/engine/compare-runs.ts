/** Whether two runs of one pipeline did the same: their finished executions, compared one by one in their normal form. */
import { sortedKeys } from '../model/canonical.ts';
import type { Json, JsonObject } from '../model/json.ts';
import type { RunRecord } from '../model/visit-record.ts';

/** A run to be compared: its records from the first execution that counts on, and how it ended. */
export type ComparedRun = { readonly records: readonly RunRecord[]; readonly end: JsonObject };

export type RunDifference = {
  /** Number of the execution among those that are compared, from 1. */
  readonly index: number;
  /** `check@2` or `the end` in each of the runs. */
  readonly recorded: string;
  readonly replayed: string;
  /** Dotted path of the first field that differs; empty where the runs are at different executions. */
  readonly field: string;
  /** The two values as JSON, shortened. */
  readonly was: string;
  readonly is: string;
};

/** The first difference, or how many executions are the same. `normal` makes names and times of the two runs alike. */
export function compareRuns(
  recorded: ComparedRun,
  replayed: ComparedRun,
  normal: (text: string) => string,
): { readonly same: number } | { readonly difference: RunDifference } {
  const [was, is] = [entriesOf(recorded, normal), entriesOf(replayed, normal)];
  for (const [n, a] of was.entries()) {
    const b = is[n] ?? { name: 'the end', text: '{}' };
    if (a.text === b.text && a.name === b.name) continue;
    const at = { index: n + 1, recorded: a.name, replayed: b.name };
    if (a.name !== b.name) return { difference: { ...at, field: '', was: a.name, is: b.name } };
    const [path, old, fresh] = firstField(JSON.parse(a.text), JSON.parse(b.text), []);
    return { difference: { ...at, field: path.join('.'), was: shown(old), is: shown(fresh) } };
  }
  // The end is the last entry of both.
  return { same: was.length - 1 };
}

type Entry = { readonly name: string; readonly text: string };

function entriesOf({ records, end }: ComparedRun, normal: (text: string) => string): Entry[] {
  const text = (value: JsonObject) => normal(JSON.stringify(sortedKeys(value)));
  const entries = records.flatMap((record) => {
    if (record.type === 'Start') return [];
    const { node, visit, node_type, outcome, retries, calls, context, origins } = record;
    const { last_failure, next_node, arrived, steps, commands, usage } = record;
    const facts = { node_type, outcome, retries, calls, context, origins };
    const rest = { last_failure, next_node, arrived, steps, commands, usage };
    return [{ name: `${node}@${visit}`, text: text(JSON.parse(JSON.stringify({ ...facts, ...rest }))) }];
  });
  return [...entries, { name: 'the end', text: text(end) }];
}

const shown = (value: Json | undefined): string => {
  const text = value === undefined ? '(nothing)' : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
};

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function firstField(
  was: Json | undefined,
  is: Json | undefined,
  path: readonly string[],
): [readonly string[], Json | undefined, Json | undefined] {
  const [a, b] = [Array.isArray(was) ? { ...was } : was, Array.isArray(is) ? { ...is } : is];
  if (!isObject(a) || !isObject(b)) return [path, was, is];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (JSON.stringify(a[key]) !== JSON.stringify(b[key])) return firstField(a[key], b[key], [...path, key]);
  }
  return [path, was, is];
}

/** The difference as a sentence. */
export const differenceText = ({ index, recorded, field, was, is }: RunDifference): string =>
  field === ''
    ? `execution ${index}: the recorded run has ${was}, the replay ${is}`
    : `execution ${index} (${recorded}): ${field} was ${was} and is ${is}`;
