/** Checks that the history of a run matches its records. The product's tests could move the history's refs to another
 *  commit; only the engine writes the records. */
import type { JsonObject } from '../core/json.ts';
import { buildStateIn } from '../core/records/build.ts';

/** The last commit of a build by the state of the run's tools. `first`: the commit that its orders began with. */
export function recordedHead(toolState: JsonObject | undefined, first: string | null): string | null {
  const state = buildStateIn(toolState);
  return state === undefined ? first : state.head;
}

/** Why a history whose refs point at `head` may not be used; undefined if the run recorded that commit. */
export function strayProblem(
  head: string | null,
  recorded: string | null,
): { readonly problem: string; readonly fix: string } | undefined {
  if (head === recorded) return undefined;
  const short = (commit: string | null) => commit?.slice(0, 12) ?? 'nothing';
  return {
    problem: `the git history of the run is at ${short(head)}, but the run recorded ${short(recorded)}: the product or one of its checks has moved it`,
    fix: 'do not trust the product: "factory verify" shows more; fork the run from a checkpoint before the node that moved the history',
  };
}
