/** What comes before an execution on the path of its branch, of all that a run has executed. Pure. */
import type { RunRecord, VisitRecord } from './records/visit.ts';

/** The run itself, or one visit of a branch. */
export type PathPart = {
  /** What it has branched off from; undefined for the run, and for a pipeline that is called: it knows nothing of its caller. */
  readonly from: PathPart | undefined;
};

/** An execution, and where it was made. */
export type PathStep = { readonly visit: VisitRecord; readonly lane: PathPart };

type OpenPart = {
  readonly from: OpenPart | undefined;
  readonly steps: PathStep[];
  /** Those of its open fork, in the order of the edges. */
  branches: readonly OpenPart[];
  isCancelled: boolean;
};

/** The executions of the run up to the fork of this branch, then its own; without a branch, of the whole run. Branches that have met
 *  in their join come before it, one after the other in the order of the edges, whichever ended first; those that were cancelled do not. */
export function executionsOnPath(
  records: readonly RunRecord[],
  branch: string | undefined,
): readonly PathStep[] {
  const open = partsOf(records);
  return pathTo(open.get(branch) ?? runOf(open));
}

/** All executions of a run in an order that does not depend on which branches ended first, also of branches that have not met yet;
 *  without those of branches that were cancelled: how far they came is chance. */
export function executionsInOrder(records: readonly RunRecord[]): readonly PathStep[] {
  const run = runOf(partsOf(records));
  join(run);
  return run.steps;
}

type OpenParts = ReadonlyMap<string | undefined, OpenPart>;

function runOf(open: OpenParts): OpenPart {
  const run = open.get(undefined);
  if (run === undefined) throw new Error('Internal: no path of the run');
  return run;
}

function partsOf(records: readonly RunRecord[]): OpenParts {
  const run = emptyPart(undefined);
  const open = new Map<string | undefined, OpenPart>([[undefined, run]]);
  for (const record of records) {
    if (record.type === 'BranchStopped') {
      const stopped = open.get(record.branch);
      if (stopped !== undefined) stopped.isCancelled = record.status === 'cancelled';
    }
    if (record.type !== 'Visit') continue;
    // The records may begin in the midst of a branch.
    const lane = open.get(record.branch) ?? emptyPart(run);
    if (!open.has(record.branch)) run.branches = [...run.branches, lane];
    open.set(record.branch, lane);
    if (record.joined !== undefined) join(lane);
    lane.steps.push({ visit: record, lane });
    lane.branches = (record.fork?.branches ?? []).map(({ id, fresh }) => {
      const opened = emptyPart(fresh === true ? undefined : lane);
      open.set(id, opened);
      return opened;
    });
  }
  return open;
}

const emptyPart = (from: OpenPart | undefined): OpenPart => ({
  ...{ from, steps: [], branches: [], isCancelled: false },
});

/** An inner fork may be open yet: its branch has failed. */
function join(lane: OpenPart): void {
  for (const branch of lane.branches) {
    if (branch.isCancelled) continue;
    join(branch);
    lane.steps.push(...branch.steps);
  }
}

const pathTo = (lane: OpenPart): readonly PathStep[] => [
  ...(lane.from === undefined ? [] : pathTo(lane.from)),
  ...lane.steps,
];
