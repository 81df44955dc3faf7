/** Whether two runs of one pipeline did the same: their finished executions, compared one by one in their normal form. */
import { executionsInOrder } from '../core/branch-path.ts';
import type { JsonObject } from '../core/json.ts';
import type { RunRecord } from '../core/records/visit.ts';
import { type FieldDifference, firstDifferentField } from './comparable.ts';

/** A run to be compared: its records from the first execution that counts on, and how it ended. */
export type ComparedRun = { readonly records: readonly RunRecord[]; readonly end: JsonObject };

/** `field` is empty where the runs are at different executions. */
export type RunDifference = FieldDifference & {
  /** Number of the execution among those that are compared, from 1. */
  readonly index: number;
  /** `check@2` or `the end` in each of the runs. */
  readonly recorded: string;
  readonly replayed: string;
};

/** The first difference, or how many executions are the same. `normal` makes names and times of the two runs alike. */
export function compareRuns(
  recorded: ComparedRun,
  replayed: ComparedRun,
  normal: (text: string) => string,
): { readonly same: number } | { readonly difference: RunDifference } {
  const [was, is] = [entriesOf(recorded), entriesOf(replayed)];
  for (const [n, a] of was.entries()) {
    const b = is[n] ?? { name: 'the end', facts: {} };
    const at = { index: n + 1, recorded: a.name, replayed: b.name };
    if (a.name !== b.name) return { difference: { ...at, field: '', was: a.name, is: b.name } };
    const found = firstDifferentField(a.facts, b.facts, normal);
    if (found !== undefined) return { difference: { ...at, ...found } };
  }
  // The end is the last entry of both.
  return { same: was.length - 1 };
}

function entriesOf({ records, end }: ComparedRun): { readonly name: string; readonly facts: JsonObject }[] {
  // Branches end in any order.
  const hasBranches = records.some((record) => record.type === 'Visit' && record.branch !== undefined);
  const entries = executionsInOrder(records).map(({ visit: record }) => {
    const { node, visit, node_type, outcome, retries, calls, context, origins } = record;
    const { last_failure, next_node, arrived, steps, commands, usage } = record;
    const facts = { node_type, outcome, retries, calls, context, origins };
    const rest = { last_failure, next_node, arrived, commands, usage, ...(hasBranches ? {} : { steps }) };
    return { name: `${node}@${visit}`, facts: JSON.parse(JSON.stringify({ ...facts, ...rest })) };
  });
  return [...entries, { name: 'the end', facts: end }];
}

/** The difference as a sentence. */
export const differenceText = ({ index, recorded, field, was, is }: RunDifference): string =>
  field === ''
    ? `execution ${index}: the recorded run has ${was}, the replay ${is}`
    : `execution ${index} (${recorded}): ${field} was ${was} and is ${is}`;
