/** What comes before an execution on the path of its branch, of all that a run has executed. Pure. */
import type { RunRecord, VisitRecord } from './records/visit.ts';

/** The run itself, or one visit of a branch. */
export type PathPart = {
  /** What it has branched off from; undefined for the run, and for a pipeline that is called: it knows nothing of its caller. */
  readonly from: PathPart | undefined;
};

/** An execution, and where it was made. */
export type PathStep = { readonly visit: VisitRecord; readonly lane: PathPart };

type OpenLane = {
  readonly from: OpenLane | undefined;
  readonly steps: PathStep[];
  /** Those of its open fork, in the order of the edges. */
  branches: readonly OpenLane[];
};

/** The executions of the run up to the fork of this branch, then its own; without a branch, of the whole run. Branches that have met
 *  in their join come before it, one after the other in the order of the edges, whichever ended first. */
export function executionsOnPath(
  records: readonly RunRecord[],
  branch: string | undefined,
): readonly PathStep[] {
  const run: OpenLane = { from: undefined, steps: [], branches: [] };
  const open = new Map<string | undefined, OpenLane>([[undefined, run]]);
  for (const visit of records) {
    if (visit.type !== 'Visit') continue;
    const lane = open.get(visit.branch);
    if (lane === undefined) throw new Error(`Internal: no open branch ${visit.branch}`);
    if (visit.joined !== undefined) join(lane);
    lane.steps.push({ visit, lane });
    lane.branches = (visit.fork?.branches ?? []).map(({ id, fresh }) => {
      const opened: OpenLane = { from: fresh === true ? undefined : lane, steps: [], branches: [] };
      open.set(id, opened);
      return opened;
    });
  }
  return pathTo(open.get(branch) ?? run);
}

/** An inner fork may be open yet: its branch was cancelled, or has failed. */
function join(lane: OpenLane): void {
  for (const branch of lane.branches) {
    join(branch);
    lane.steps.push(...branch.steps);
  }
}

const pathTo = (lane: OpenLane): readonly PathStep[] => [
  ...(lane.from === undefined ? [] : pathTo(lane.from)),
  ...lane.steps,
];
