/** `factory order mend`: creates a work order from failed holdout scenarios. */
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { openBuild } from '../build-state.ts';
import { createFixOrder } from '../mend.ts';
import { stepUpdates } from '../step-context.ts';
import { inRun, type StepOptions } from './in-run.ts';

/** Creates a fix order from failed holdout scenarios. Label `fix`, or `give_up` after `fixes` of them. */
export const fixOrder = (
  options: StepOptions & { readonly fixes: number },
  io: CommandIo,
): Promise<StepVerdict> =>
  inRun(options, io, async (place) => {
    const build = await openBuild(place, { allowExempt: false });
    if ('problem' in build) return no('config', build.problem);
    const failures = (await stepUpdates(io))['judge.failures'];
    const made = await createFixOrder(place, build, { failures, most: options.fixes });
    if ('problem' in made) return no('config', made.problem);
    if ('usedUp' in made)
      return yes(`the product is still unfit after ${made.usedUp} of ${options.fixes} mendings; giving up`, {
        label: 'give_up',
      });
    return yes(`${made.order.id} (${made.number} of ${options.fixes}): ${made.order.title}`, {
      label: 'fix',
      updates: { 'order.fixes': made.number },
    });
  });
