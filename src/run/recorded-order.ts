/** The executions of a recorded run, for a replay whose branches may end in another order. */
import { branchesOf } from '../core/fork.ts';
import { own } from '../core/json.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';

export type RecordedOrder = ReturnType<typeof recordedOrder>;

/** The execution that comes next in a branch. */
export type NextInBranch = { readonly node: string; readonly visit: number; readonly branch: string };

export function recordedOrder(records: readonly RunRecord[]) {
  const byName = new Map<string, VisitRecord>();
  const byStep = new Map<number, VisitRecord>();
  const cancelled = new Set<string>();
  /** The branch that a branch, or a node, is in. */
  const branchesAbove = new Map<string, string | undefined>();
  const ofNode = new Map<string, string>();
  for (const record of records) {
    if (record.type === 'BranchStopped' && record.status === 'cancelled') cancelled.add(record.branch);
    if (record.type !== 'Visit') continue;
    byName.set(`${record.node}@${record.visit}`, record);
    byStep.set(record.steps, record);
    for (const { id } of record.fork?.branches ?? []) branchesAbove.set(id, record.branch);
    if (record.branch !== undefined) ofNode.set(record.node, record.branch);
  }
  const pathTo = (branch: string | undefined): readonly string[] =>
    branch === undefined ? [] : [...pathTo(branchesAbove.get(branch)), branch];
  /** Whether the branch, or one that it is in, was cancelled since others had decided the join. */
  const isCancelled = (branch: string | undefined) => pathTo(branch).some((id) => cancelled.has(id));
  const inCancelled = [...byStep.values()].filter(({ branch }) => isCancelled(branch));
  return {
    executions: [...byStep.values()],
    execution: (node: string, visit: number) => byName.get(`${node}@${visit}`),
    /** The one that is to come as number `step`, if the run has no branches: there the order is one of many. */
    inOrder: (step: number) => (branchesAbove.size > 0 ? undefined : byStep.get(step)),
    hasBranches: branchesAbove.size > 0,
    /** Whether an execution in a branch is not to begin yet: the recorded run cancelled the branch there, or branches that it cancelled
     *  have not come as far as they had come before this one. */
    isEarly({ node, visit, branch }: NextInBranch, state: Pick<RunState, 'fork' | 'visits'>): boolean {
      const was = byName.get(`${node}@${visit}`);
      if (was === undefined) return isCancelled(branch);
      if (inCancelled.length === 0) return false;
      const open = new Set(branchesOf(state).flatMap(({ id, cursor }) => (cursor.ended ? [] : [id])));
      return inCancelled.some(
        (one) =>
          one.steps < was.steps &&
          open.has(one.branch ?? '') &&
          (own(state.visits, one.node) ?? 0) < one.visit,
      );
    },
    /** Nodes of branches that run at the same time as this one: how far they have come is chance. `state`: of the whole run. */
    besides(branch: string | undefined, state: Pick<RunState, 'fork'>): (node: string) => boolean {
      if (branch === undefined) return () => false;
      const path = pathTo(branch);
      const siblings = new Set(
        branchesOf(state).flatMap(({ id, within }) =>
          path.includes(id) || within.some((outer) => !path.includes(outer)) ? [] : [id],
        ),
      );
      return (node) => pathTo(ofNode.get(node)).some((id) => siblings.has(id));
    },
  };
}
