/** Forks of a run: branches that run side by side until they meet in a join. What the journal's lines say of them, and where
 *  each of them is. */
import * as z from 'zod';
import type { Json } from '../json.ts';
import { once } from '../once.ts';
import { failureClasses } from '../outcome.ts';
import type { RunState } from './checkpoint.ts';
import { nodeId } from './names.ts';

const json: () => z.ZodType<Json> = once(() => z.json() as z.ZodType<Json>);

/** A branch is called by the id of its first node. */
export const branchOf = once(() => nodeId().describe('Branch of an open fork: the innermost one'));

/** What the execution of a fan-out or of a call opens. */
export const openedForkSchema = once(() =>
  z.object({
    join: nodeId().describe('The node in which the branches meet; of a call: an exit of its pipeline'),
    call: z.literal(true).exactOptional().describe('A call of another pipeline, in the same workspace'),
    items: z.array(json()).exactOptional().describe('Of `for_each`, one for each branch'),
    branches: z
      .array(
        z.object({
          id: nodeId().describe('Its first node'),
          set: z.record(z.string(), json()).exactOptional().describe('Added to its context'),
          fresh: z.literal(true).exactOptional().describe('Its context is only what `set` says'),
        }),
      )
      .describe('In the order of the edges'),
  }),
);
export type OpenedFork = z.infer<ReturnType<typeof openedForkSchema>>;

export const branchEndWords = ['completed', 'failed', 'cancelled'] as const;

/** How a branch has ended: `completed` and `failed` with an outcome of its last node or without one, `cancelled` since another
 *  branch decided the join. */
export const branchEndSchema = once(() =>
  z.object({
    ok: z.boolean(),
    status: z.enum(branchEndWords),
    reason: z.string().describe('Empty for a success'),
    class: z.enum(failureClasses).nullable(),
  }),
);
export type BranchEnd = z.infer<ReturnType<typeof branchEndSchema>>;

/** What of the state each branch has for itself. Records by node (visits, outcomes, costs, …) are the run's: a node belongs to
 *  one branch. */
export const ownOfBranch = [
  ...(['context', 'origins', 'next_node', 'arrived', 'last_outcome', 'last_failure'] as const),
  ...(['last_completed_node', 'snapshot', 'setup', 'tool_state', 'threads', 'open_failures'] as const),
  ...(['last_executable', 'agent_step', 'restarts', 'round_step', 'visits_before'] as const),
  ...(['cut_ms', 'parked', 'question', 'fork'] as const),
] as const;

/** Where a branch is. */
export type Cursor = Pick<RunState, (typeof ownOfBranch)[number]> & {
  readonly snapshot: string;
  /** Executed in it and in branches of it, sorted. */
  readonly nodes: readonly string[];
  /** Keys that the fork has set in its context: a restart keeps them. */
  readonly given?: readonly string[];
  readonly ended?: BranchEnd;
};

/** The branches of a fan-out that has run and whose join has not. Meanwhile the `next_node` of the run (of a branch, if it is in one)
 *  is the join, and its snapshot the base. */
export type Fork = {
  readonly node: string;
  readonly join: string;
  /** Snapshot of the workspace with which each branch began. */
  readonly base: string;
  /** Number of the execution that opened it, over the whole run. */
  readonly step: number;
  readonly call?: true;
  readonly items?: readonly Json[];
  /** By id, in the order of the edges. */
  readonly branches: Readonly<Record<string, Cursor>>;
};
