/** `factory order apply`: writes the proposal and records what it wrote. */

import { type Verdict, yes } from '../../model/step.ts';
import type { WorkOrder } from '../../model/work-order.ts';
import type { CommandIo } from '../../system/command-io.ts';
import { withoutGit } from '../../system/git.ts';
import { readAnswer } from '../answer.ts';
import { applyProposal } from '../apply.ts';
import { type Written, whatWasWritten } from '../drift.ts';
import { parseProposal } from '../proposal.ts';
import { type StageFailure, stageFailure } from '../stage.ts';
import { type CurrentOrder, writeState } from '../state.ts';
import { parseFiles } from '../syntax.ts';
import { type Place, probeOf } from '../tool.ts';
import { plansFor } from '../verify.ts';
import { onCurrentOrder, type StepOptions } from './in-run.ts';
import { refuse } from './refuse.ts';

/** Writes the proposal and sets the plans by which it is judged. */
export const orderApply = (options: StepOptions, io: CommandIo): Promise<Verdict> =>
  onCurrentOrder(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const { order } = hand.loaded;
    const end = async (
      touched: readonly string[],
      result: { readonly failed: StageFailure } | { readonly written: CurrentOrder['written'] },
    ): Promise<void> =>
      writeState(place, {
        ...build.state,
        current: { ...hand.current, touched: [...touched], failed: null, written: null, ...result },
      });
    const answer = await readAnswer(workspace);
    const parsed = 'stage' in answer ? answer : parseProposal(answer.text);
    if ('stage' in parsed) {
      await end([], { failed: parsed });
      return refuse(parsed);
    }
    const applied = await applyProposal(workspace, order, parsed.proposal);
    const written = applied.failure ?? (await writtenBy(place, build.state.head, order, applied.touched, io));
    const failed = 'stage' in written;
    await end(applied.touched, failed ? { failed: written } : { written: written.written });
    if (failed) return refuse(written);
    const { unparsed } = written;
    const files = applied.touched.filter((path) => !unparsed.includes(path));
    const plans = await plansFor(workspace, order, { files, probe: probeOf(io) });
    const notParsed = unparsed.length === 0 ? '' : `; not parsed: ${unparsed.join(', ')}`;
    return yes(`${order.id}: wrote ${applied.touched.join(', ')}${notParsed}`, {
      updates: { ...plans, 'order.touched': applied.touched, 'order.stage': '' },
    });
  });

/** What the order wrote, as a checkout has it; refused if a file does not parse. */
async function writtenBy(
  place: Place,
  head: string | null,
  order: WorkOrder,
  touched: readonly string[],
  io: CommandIo,
): Promise<StageFailure | { readonly written: Written; readonly unparsed: readonly string[] }> {
  const written = await whatWasWritten(place, head, touched, io);
  if ('stage' in written) return written;
  const { broken, unparsed } = await parseFiles(place.workspace, touched, {
    notes: order.notes,
    env: withoutGit(io.env),
  });
  return broken.length > 0 ? stageFailure('verify_failed', broken.join('\n')) : { written, unparsed };
}
