/** `factory order next`: chooses the work order to build. */
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import type { JsonObject } from '../../core/json.ts';
import { orderLevels } from '../../core/orders/waits.ts';
import { levelsToRecord } from '../../core/records/ahead.ts';
import type { BuildState, CurrentOrder } from '../../core/records/build.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { type AheadOptions, beginRound, type Round, withAhead } from '../ahead.ts';
import { type Build, buildCommits, openBuild, skipApplied, writeBuildState } from '../build-state.ts';
import { probeOf, type StepContext, stepUpdates } from '../step-context.ts';
import { verifyFacts } from '../verify.ts';
import { inRun, type StepOptions } from './in-run.ts';

/** Takes the first work order that is not done. Label `order`; `ahead` if it is to be asked together with others, whose prompts are
 *  written then; `done` when there is none left. */
export const orderNext = (
  options: StepOptions & AheadOptions & { readonly allowVerifyExempt?: boolean; readonly exempt?: string },
  io: CommandIo,
): Promise<StepVerdict> =>
  inRun(options, io, async (place) => {
    const allowExempt = options.allowVerifyExempt === true || options.exempt === 'allow';
    const build = await openBuild(place, { allowExempt });
    if ('problem' in build) return no('config', build.problem);
    const allow_exempt = build.state.allow_exempt || allowExempt;
    const state: BuildState = { ...(await skipApplied(place, build)), allow_exempt };
    const pending = build.orders.find((one) => !state.done.some((done) => done.id === one.order.id));
    const count = build.orders.length;
    if (pending === undefined) {
      await writeBuildState(place, { ...state, current: null });
      const commits = buildCommits(state);
      const updates = { 'order.count': count, 'build.commits': commits };
      const all = count === 1 ? 'the one work order is' : `all ${count} work orders are`;
      const made = `${commits.length} commit${commits.length === 1 ? '' : 's'} by this run`;
      return yes(`${all} done (${made})`, { label: 'done', updates });
    }
    const { order } = pending;
    const index = build.orders.indexOf(pending) + 1;
    const current = state.current?.id === order.id ? state.current : freshOrder(order.id);
    const known = current.attempt > 0 || state.ahead?.some(({ id }) => id === order.id) === true;
    const round = known ? undefined : await beginRound(place, { ...build, state }, pending, options, io);
    if (round !== undefined && 'problem' in round) return no('config', round.problem);
    const opened = round === undefined ? { state } : inRound(state, round);
    await writeBuildState(place, { ...opened.state, current });
    const updates = {
      'order.id': order.id,
      'order.title': order.title,
      'order.index': index,
      'order.count': count,
      'order.stage': '',
      ...(await levelsAtFirst(place, build, state, io)),
    };
    const notes = `${order.id} (${index} of ${count}): ${order.title}${opened.note ?? ''}`;
    if (opened.ids === undefined) return yes(notes, { label: 'order', updates });
    return yes(notes, { label: 'ahead', updates: { ...updates, [askedKey]: opened.ids } });
  });

/** The levels of the orders that are to be built, for people: once, before the first of them. */
async function levelsAtFirst(
  { workspace }: StepContext,
  { orders, state: before }: Build,
  { done }: BuildState,
  io: CommandIo,
): Promise<JsonObject> {
  if (before.current !== null || before.done.length > 0) return {};
  const open = orders.map(({ order }) => order).filter(({ id }) => !done.some((one) => one.id === id));
  // Without other orders nothing of the project is looked at.
  if (open.length < 2) return {};
  const levels = orderLevels(open, await verifyFacts(workspace, probeOf(io)));
  // The planner has estimated them without knowing what is installed here.
  return levelsToRecord(levels, await stepUpdates(io));
}

/** Context key of the orders of a round. */
const askedKey = 'order.ahead';

/** What a round changes. That orders are asked in a row is reported once. */
function inRound(
  state: BuildState,
  round: Exclude<Round, { readonly problem: string }>,
): { readonly state: BuildState; readonly note?: string; readonly ids?: string[] } {
  if ('inARow' in round) {
    const note = `; ${round.inARow} orders are independent, but asked one after another: the agent can see more than the prompt, or has prepared answers`;
    return { state: { ...state, in_a_row: true }, note };
  }
  const ids = round.asked.map(({ id }) => id);
  const note = `; asked together with ${ids.slice(1).join(', ')}`;
  return { state: withAhead(state, [...(state.ahead ?? []), ...round.asked]), note, ids };
}

const freshOrder = (id: string): CurrentOrder => ({
  id,
  attempt: 0,
  snapshot: null,
  touched: [],
  written: null,
  failed: null,
  brief: null,
});
