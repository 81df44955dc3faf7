/** `factory order mend`: what the judge found wrong with the product becomes a work order. */
import { openBuild } from '../builder/build.ts';
import { mend } from '../builder/mend.ts';
import { type CommandIo, contextOf } from '../builder/tool.ts';
import { no, type OrderOptions, step, yes } from './order-step.ts';

/** Makes one more work order of what the judge found wrong with the product. Label `fix`, or `give_up` when as many as
 *  `fixes` have been made. */
export const orderMend = (
  options: OrderOptions & { readonly fixes: number },
  io: CommandIo,
): Promise<number> =>
  step(options, io, async (place) => {
    const build = await openBuild(place, { allowExempt: false });
    if ('problem' in build) return no('config', build.problem);
    const failures = (await contextOf(io))['judge.failures'];
    const made = await mend(place, build, { failures, most: options.fixes });
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
