/** Rounds of a run: an edge with `loop_restart` begins a new one at its target. Pure. */
import type { LimitHit } from './budget/limits.ts';
import type { StateChange } from './decision.ts';
import type { Edge, Graph } from './graph.ts';
import { own } from './json.ts';
import type { Context } from './outcome.ts';
import { buildsHistory } from './pipeline.ts';
import type { RunState } from './records/checkpoint.ts';
import type { Caps } from './settings/limits.ts';

/** Whether a run that takes the edge begins a new round. An exit ends the run: if it began one there, unmet goal gates would no
 *  longer count. */
export const restartsAt = (
  edge: Edge | undefined,
  target: { readonly type: string | undefined } | undefined,
) => edge?.restarts === true && target?.type !== 'exit';

/** The change with which the next round begins: the context is new, and no earlier failure counts. The outcome that led here stays
 *  the previous one, so that a conditional node passes it on. */
export const beginningRound = (
  graph: Graph,
  before: RunState,
  change: StateChange,
  given: readonly string[] = [],
): StateChange => ({
  ...change,
  restart: (before.restarts ?? 0) + 1,
  now: { ...change.now, context: keptContext(graph, change.now.context, given), last_failure: null },
});

/** The keys of the graph's own settings, those that its author keeps, those with which a branch began, and what a build has recorded:
 *  its commits stay, too. */
function keptContext(graph: Graph, context: Context, given: readonly string[]): Context {
  const keys = [...(graph.settings.loop_restart_persist_keys ?? []), ...given];
  const builds = buildsHistory(graph);
  const isKept = (key: string): boolean =>
    key.startsWith('graph.') || keys.includes(key) || (builds && key.startsWith('build.'));
  return Object.fromEntries(Object.entries(context).filter(([key]) => isKept(key)));
}

/** The state at the beginning of a round. Calls, costs and times continue, and so do the numbers of executions, which name artifacts. */
export function inNewRound(state: RunState, restart: number): RunState {
  const { alike: _, open_failures: __, ...rest } = state;
  const isKept = ([key]: readonly [string, unknown]): boolean => own(state.context, key) !== undefined;
  return {
    ...rest,
    restarts: restart,
    round_step: state.steps,
    visits_before: { ...state.visits },
    outcomes: {},
    origins: Object.fromEntries(Object.entries(state.origins).filter(isKept)),
  };
}

/** How often a node was executed in this round. */
export const visitsInRound = ({ visits, visits_before = {} }: RunState, node: string): number =>
  (own(visits, node) ?? 0) - (own(visits_before, node) ?? 0);

/** How often the run has begun again: a restart counts with the first execution after it, since the limit may refuse it. */
export const restartCount = ({ restarts = 0, round_step, steps }: RunState): number =>
  restarts > 0 && steps === round_step ? restarts - 1 : restarts;

/** Why the round does not begin, or undefined. */
export function restartsSpent(
  { restarts = 0, arrived, next_node }: RunState,
  { max_restarts: most }: Pick<Caps, 'max_restarts'>,
): LimitHit | undefined {
  if (restarts <= most) return undefined;
  const times = most === 1 ? 'once' : `${most} times`;
  const reason = `max_restarts: the edge ${arrived?.from} -> ${next_node} would restart the run again, which has restarted ${times}, and its limit is ${most} (max_restarts on the graph, --max-restarts)`;
  return { reason, ofBranch: true };
}
