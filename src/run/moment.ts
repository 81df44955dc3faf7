/** A checkpoint of a run, found in its executions: the state there, and the next node. */
import { own } from '../core/json.ts';
import { nearestOf } from '../core/nearest.ts';
import type { Point } from '../core/records/names.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';

export type Moment = {
  readonly ok: true;
  /** The execution that was named. */
  readonly visit: VisitRecord;
  /** True for the state before that execution, false for the one after it. */
  readonly before: boolean;
  /** The snapshot of the workspace. */
  readonly snapshot: string;
  /** The records up to this moment, the Start record first. */
  readonly records: readonly RunRecord[];
};

export type NoMoment = { readonly ok: false; readonly why: string; readonly fix: string };

const noMoment = (why: string, fix: string): NoMoment => ({ ok: false, why, fix });

/** The checkpoint after the execution that `point` names, or with `before` the one before it; else which executions exist.
 *  `records` are those of a run from the first one on. */
export function findMoment(records: readonly RunRecord[], point: Point, before = false): Moment | NoMoment {
  const visits = records.filter((record) => record.type === 'Visit');
  const ofNode = visits.filter((record) => record.node === point.node);
  const visit =
    point.visit === undefined ? ofNode.at(-1) : ofNode.find((record) => record.visit === point.visit);
  if (visit === undefined) return noSuchVisit(visits, ofNode, point);
  const count = records.indexOf(visit) + (before ? 0 : 1);
  return {
    ok: true,
    visit,
    before,
    snapshot: before ? visit.before : visit.after,
    records: records.slice(0, count),
  };
}

function noSuchVisit(visits: readonly VisitRecord[], ofNode: readonly VisitRecord[], point: Point): NoMoment {
  const there = finishedVisits(visits);
  if (visits.length === 0) return noMoment('the run has finished no visit yet', 'wait until it has');
  const last = ofNode.at(-1);
  if (last !== undefined)
    return noMoment(
      `node "${point.node}" has no finished visit ${point.visit}: its last one is ${last.visit}`,
      `name one of ${there}`,
    );
  const meant = nearestOf(point.node, [...new Set(visits.map(({ node }) => node))]);
  return noMoment(
    `the run has finished no visit of a node "${point.node}"`,
    `${meant === undefined ? '' : `did you mean "${meant}"? `}finished are: ${there}`,
  );
}

const mostListed = 20;

/** `start, check@1-3, fix@1-2`, in the order in which nodes were first reached. */
function finishedVisits(visits: readonly VisitRecord[]): string {
  const last: Record<string, number> = {};
  for (const { node, visit } of visits) last[node] = Math.max(visit, own(last, node) ?? 0);
  const words = Object.entries(last).map(([node, visit]) => (visit === 1 ? node : `${node}@1-${visit}`));
  const more = words.length - mostListed;
  return words.slice(0, mostListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
