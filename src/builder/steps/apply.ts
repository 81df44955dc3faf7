/** `factory order apply`: writes the proposal and records what it wrote. */
import { type StepVerdict, yes } from '../../core/contracts/step.ts';
import { type StageFailure, stageFailure } from '../../core/orders/failure-stage.ts';
import { notesOf } from '../../core/orders/notes.ts';
import type { WorkOrder } from '../../core/orders/work-order.ts';
import type { CurrentOrder } from '../../core/records/build.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { withoutGit } from '../../platform/git.ts';
import { applyProposal } from '../apply.ts';
import { writeBuildState } from '../build-state.ts';
import { commandsBefore, keptCommands, lostChecks } from '../kept-checks.ts';
import { parseProposal, readProposalAnswer } from '../proposal.ts';
import { probeOf, type StepContext } from '../step-context.ts';
import { parseFiles } from '../syntax.ts';
import { type UntrackedChange, untrackedChanges } from '../untracked-changes.ts';
import { plansFor } from '../verify.ts';
import { onCurrentOrder, type StepOptions } from './in-run.ts';
import { refuse } from './refuse.ts';

/** Writes the proposal and sets the plans by which it is judged. */
export const orderApply = (options: StepOptions, io: CommandIo): Promise<StepVerdict> =>
  onCurrentOrder(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const { order } = hand.loaded;
    const before = await commandsBefore(place, build, io);
    const end = async (
      touched: readonly string[],
      result: { readonly failed: StageFailure } | { readonly written: CurrentOrder['written'] },
    ): Promise<void> =>
      writeBuildState(place, {
        ...build.state,
        verified: [...before.first],
        current: { ...hand.current, touched: [...touched], failed: null, written: null, ...result },
      });
    const answer = await readProposalAnswer(workspace);
    const parsed = 'stage' in answer ? answer : parseProposal(answer.text);
    if ('stage' in parsed) {
      await end([], { failed: parsed });
      return refuse(parsed);
    }
    const applied = await applyProposal(workspace, order, parsed.proposal, (writes) =>
      lostChecks(place, build, order, before.now, writes, io),
    );
    const written = applied.failure ?? (await writtenBy(place, build.state.head, order, applied.touched, io));
    const failed = 'stage' in written;
    await end(applied.touched, failed ? { failed: written } : { written: written.written });
    if (failed) return refuse(written);
    const { unparsed } = written;
    const plans = await plansFor(
      workspace,
      order,
      { files: applied.touched, unparsed: notesOf(order).unparsed, probe: probeOf(io) },
      keptCommands(order, before),
    );
    const notParsed = unparsed.length === 0 ? '' : `; syntax not checked: ${unparsed.join(', ')}`;
    return yes(`${order.id}: wrote ${applied.touched.join(', ')}${notParsed}`, {
      updates: { ...plans, 'order.touched': applied.touched, 'order.stage': '' },
    });
  });

/** What the order wrote, as a checkout has it; refused if a file does not parse. */
async function writtenBy(
  place: StepContext,
  head: string | null,
  order: WorkOrder,
  touched: readonly string[],
  io: CommandIo,
): Promise<StageFailure | { readonly written: UntrackedChange; readonly unparsed: readonly string[] }> {
  const written = await untrackedChanges(place, head, touched, io);
  if ('stage' in written) return written;
  const { broken, unparsed } = await parseFiles(place.workspace, touched, {
    notes: order.notes,
    env: withoutGit(io.env),
  });
  return broken.length > 0 ? stageFailure('verify_failed', broken.join('\n')) : { written, unparsed };
}
