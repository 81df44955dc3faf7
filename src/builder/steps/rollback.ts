/** `factory order rollback`: undoes a failed attempt. */
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import { moveHead } from '../../git/commit.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { openSnapshots } from '../../workspace/snapshots.ts';
import { readBuildState, writeBuildState } from '../build-state.ts';
import { whatFailed } from '../failure.ts';
import { isPutBack } from '../untracked-changes.ts';
import { inRun, type StepOptions } from './in-run.ts';

/** Undoes the attempt: restores the project, inputs, plan, orders and the git index to the state at its start. Label `again`, or `give_up` when `attempts` are used up or another one could not help. */
export const orderRollback = (
  options: StepOptions & { readonly attempts: number },
  io: CommandIo,
): Promise<StepVerdict> =>
  inRun(options, io, async (place) => {
    const { workspace } = place;
    const read = readBuildState(place);
    if ('problem' in read) return no('config', read.problem);
    const { state } = read;
    const current = state?.current;
    if (state === undefined || current === undefined || current === null) {
      return no('config', 'no work order is in hand: run "factory order next" first');
    }
    if (current.snapshot === null) {
      return no(
        'config',
        `the attempt at ${current.id} has no snapshot to go back to: the prompt node needs access="run"`,
      );
    }
    const snapshots = await openSnapshots({ workspace, dir: place.run.contents, inStage: true });
    await snapshots.restore(await snapshots.load(current.snapshot), isPutBack);
    // A check may have committed, or gone to another branch.
    await moveHead({ historyDir: place.run.history, workspace, env: io.env }, state.head);
    const { brief, hopeless } = await whatFailed(place, current, io);
    await writeBuildState(place, {
      ...state,
      current: { ...current, touched: [], written: null, failed: null, brief },
    });
    const updates = { 'order.stage': brief.stage, 'order.brief': brief };
    const what = `${current.id}, attempt ${current.attempt} of ${options.attempts}, failed at ${brief.stage}`;
    const why = brief.excerpt.split('\n')[0] ?? '';
    return hopeless || current.attempt >= options.attempts
      ? yes(`${what}: ${why}; giving up${hopeless ? ': another attempt could not change that' : ''}`, {
          label: 'give_up',
          updates,
        })
      : yes(`${what}: ${why}; all changes are undone`, { label: 'again', updates });
  });
