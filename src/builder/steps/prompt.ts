/** `factory order prompt`: begins an attempt at the current order. */
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import type { JsonObject } from '../../core/json.ts';
import { stageFailure } from '../../core/orders/failure-stage.ts';
import { aheadKey } from '../../core/records/ahead.ts';
import {
  type AskedAhead,
  aheadCounts,
  type BuildState,
  type CurrentOrder,
} from '../../core/records/build.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { filesInside } from '../../platform/files/inside.ts';
import { answerAhead, withAhead, withAnswers } from '../ahead.ts';
import { type Build, preflightProblem, writeBuildState } from '../build-state.ts';
import { promptWriter } from '../order-prompt.ts';
import type { StepContext } from '../step-context.ts';
import { onCurrentOrder, type StepOptions } from './in-run.ts';
import { refuse } from './refuse.ts';

/** Begins an attempt: checks the preconditions and writes the prompt. A precondition that does not hold is never tried
 *  again: label `give_up`. */
export const orderPrompt = (
  options: StepOptions & { readonly template?: string },
  io: CommandIo,
): Promise<StepVerdict> =>
  onCurrentOrder(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const files = filesInside(workspace);
    const { order } = hand.loaded;
    const attempt = hand.current.attempt + 1;
    const current: CurrentOrder = {
      ...hand.current,
      attempt,
      snapshot: io.env['FACTORY_SNAPSHOT'] ?? null,
      touched: [],
      written: null,
      failed: null,
    };
    // An answer to an earlier prompt must not be taken for the answer to this one.
    files.remove(inWorkspace.orderProposal);
    const unmet = await preflightProblem(workspace, order);
    if (unmet !== undefined) {
      const failed = stageFailure('preflight', unmet);
      await writeBuildState(place, { ...build.state, current: { ...current, failed } });
      return refuse(failed, { label: 'give_up' });
    }
    const prompt = await promptWriter(place, build, options.template, io)({ ...current, order });
    if ('problem' in prompt) return no('config', prompt.problem);
    await files.write(inWorkspace.orderPrompt, prompt.text);
    const ahead = await fromAhead(place, build, { ...current, text: prompt.text }, io);
    await writeBuildState(place, { ...ahead.state, current });
    const written = `${order.id}, attempt ${attempt}: ${inWorkspace.orderPrompt} is written${ahead.note ?? ''}`;
    const updates = { 'order.attempt': attempt, 'order.stage': '', ...ahead.updates };
    return yes(written, ahead.isAnswered === true ? { label: 'answered', updates } : { updates });
  });

type Ahead = {
  readonly state: BuildState;
  readonly updates?: JsonObject;
  readonly note?: string;
  /** The answer is where a model's would be. */
  readonly isAnswered?: boolean;
};

/** Looks for an answer that was asked ahead, which counts for the first attempt alone. */
async function fromAhead(
  place: StepContext,
  { state, orders }: Build,
  { id, attempt, text }: { readonly id: string; readonly attempt: number; readonly text: string },
  io: CommandIo,
): Promise<Ahead> {
  if (state.ahead === undefined) return { state };
  const asked = withAnswers(place, state.ahead);
  const one = asked.find((other) => other.id === id);
  const ended = (end: AskedAhead['end']): Omit<Ahead, 'note'> => {
    const now = asked.map((other) => (other === one && end !== undefined ? { ...other, end } : other));
    const counts = aheadCounts(now, orders.length);
    return { state: withAhead(state, now), updates: counts.asked === 0 ? {} : { [aheadKey]: counts } };
  };
  if (one === undefined || attempt > 1) return ended(undefined);
  if (one.end !== undefined)
    return {
      ...ended(undefined),
      ...(one.end === 'wasted' ? { note: '; its answer asked ahead does not count' } : {}),
    };
  const answer = answerAhead(place, one, text, io);
  if ('wasted' in answer)
    return { ...ended('wasted'), note: `; its answer asked ahead does not count: ${answer.wasted}` };
  await filesInside(place.workspace).write(inWorkspace.orderProposal, answer.text);
  return { ...ended('used'), note: '; its answer was asked ahead', isAnswered: true };
}
