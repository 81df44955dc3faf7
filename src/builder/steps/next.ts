/** `factory order next`: chooses the work order to build. */
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import type { BuildState, CurrentOrder } from '../../core/records/build.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { buildCommits, openBuild, skipApplied, writeBuildState } from '../build-state.ts';
import { inRun, type StepOptions } from './in-run.ts';

/** Takes the first work order that is not done. Label `order`, or `done` when there is none left. */
export const orderNext = (
  options: StepOptions & { readonly allowVerifyExempt?: boolean; readonly exempt?: string },
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
    await writeBuildState(place, { ...state, current });
    const updates = {
      'order.id': order.id,
      'order.title': order.title,
      'order.index': index,
      'order.count': count,
      'order.stage': '',
    };
    return yes(`${order.id} (${index} of ${count}): ${order.title}`, { label: 'order', updates });
  });

const freshOrder = (id: string): CurrentOrder => ({
  id,
  attempt: 0,
  snapshot: null,
  touched: [],
  written: null,
  failed: null,
  brief: null,
});
