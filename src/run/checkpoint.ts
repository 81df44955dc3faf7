/** `checkpoint.json`: how the run stands, for people and scripts. Written after each line of the journal that changes the
 *  state, and not flushed: a resume reads the journal, and rewrites the checkpoint where a crash left an older one. */
import { basename } from 'node:path';
import * as z from 'zod';
import { once } from '../core/once.ts';
import {
  boundedCheckpointSchema,
  checkpointSchema,
  type JournalMark,
  journalMarkSchema,
  type RunState,
} from '../core/records/checkpoint.ts';
import { layout } from '../core/records/layout.ts';
import { writeFileAtomic } from '../platform/files/write.ts';

/** Longer lists are only in the journal, so that writing stays cheap. */
const mostInline = 1000;
const journalName = basename(layout('').journal);

export const checkpointFileSchema = once(() =>
  z.object({
    ...boundedCheckpointSchema().shape,
    completed_nodes: z.array(z.string()).optional(),
    completed_nodes_file: z.string().optional().describe('Whose lines of type Visit name the nodes'),
    completed_nodes_count: z.int().min(0).optional().describe('How many different ones they name'),
    retry_counts: checkpointSchema()
      .shape.retry_counts.optional()
      .describe('Left out where there are more than 1,000'),
    journal: journalMarkSchema().describe('The lines of journal.jsonl that it was written from'),
  }),
);

/** Sorted ids of the nodes that completed, or how many there are when they are more than 1,000. */
type Completed = readonly string[] | number;

/** The nodes that completed, kept sorted at little cost. */
export function completedNodes(before: readonly string[]) {
  const sorted = [...before];
  let count = sorted.length;
  return {
    add(node: string, visit: number): void {
      if (visit > 1) return;
      count += 1;
      if (count <= mostInline) insert(sorted, node);
      else sorted.length = 0;
    },
    now: (): Completed => (count <= mostInline ? sorted : count),
  };
}

function insert(sorted: string[], id: string): void {
  let from = 0;
  for (let to = sorted.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < id) from = middle + 1;
    else to = middle;
  }
  sorted.splice(from, 0, id);
}

/** Replaces the checkpoint. Rejects if it cannot be written. */
export async function writeCheckpoint(
  path: string,
  state: RunState,
  completed: Completed,
  journal: JournalMark,
): Promise<void> {
  await writeFileAtomic(path, checkpointText(state, completed, journal), { evenFolder: true });
}

/** The text of the file. */
export function checkpointText(state: RunState, completed: Completed, journal: JournalMark): string {
  const count = typeof completed === 'number' ? completed : completed.length;
  const checkpoint = {
    schema_version: state.schema_version,
    run_id: state.run_id,
    epoch: state.epoch,
    last_completed_node: state.last_completed_node,
    ...(typeof completed !== 'number' && count <= mostInline
      ? { completed_nodes: completed }
      : { completed_nodes_file: journalName, completed_nodes_count: count }),
    ...(hasAtMost(state.retry_counts, mostInline) ? { retry_counts: state.retry_counts } : {}),
    context: state.context,
    next_node: state.next_node,
    arrived: state.arrived,
    steps: state.steps,
    ...(state.restarts === undefined ? {} : { restarts: state.restarts }),
    ...(state.round_step === undefined ? {} : { round_step: state.round_step }),
    last_outcome: state.last_outcome,
    last_failure: state.last_failure,
    snapshot: state.snapshot,
    elapsed_ms: state.elapsed_ms,
    ...(state.spent === undefined ? {} : { spent: state.spent }),
    ...(state.cut_ms === undefined ? {} : { cut_ms: state.cut_ms }),
    status: state.status,
    ended: state.ended,
    ...(state.parked === undefined ? {} : { parked: state.parked }),
    ...(state.question === undefined ? {} : { question: state.question }),
    at: state.at,
    journal,
  };
  return `${JSON.stringify(checkpoint, null, 2)}\n`;
}

/** Whether a record has at most that many entries, without counting more. */
function hasAtMost(record: object, most: number): boolean {
  let count = 0;
  for (const key in record) if (Object.hasOwn(record, key) && ++count > most) return false;
  return true;
}
