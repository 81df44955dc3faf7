/** What every step of a build has in common: the run that it works in, and answers for what git and the disk do. */
import { no, type StepVerdict } from '../../core/contracts/step.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { exitOfDisk, tellsOfDisk } from '../../platform/files/disk-error.ts';
import { GitError } from '../../platform/git.ts';
import { type Build, inHand, openBuild } from '../build-state.ts';
import { type StepContext, stepContext } from '../step-context.ts';

/** `run`: the run directory, if it is not the one of the pipeline. */
export type StepOptions = { readonly run?: string };

/** Finds the run and does the step there. A throw is our fault. */
export async function inRun(
  options: StepOptions,
  io: CommandIo,
  act: (place: StepContext) => Promise<StepVerdict>,
): Promise<StepVerdict> {
  const place = await stepContext(io, options.run);
  if ('problem' in place) return no('config', place.problem);
  try {
    return await act(place);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // What a full disk has stopped is done again when there is space.
    if (tellsOfDisk(error.message)) return no('infra', error.message, { code: exitOfDisk('order', io.env) });
    const why = error.missing ? 'config' : error.unanswered ? 'infra' : 'internal';
    return no(why, error.message);
  }
}

export type InHand = Exclude<ReturnType<typeof inHand>, { readonly problem: string }>;

/** A step that works on the current order: the build is opened and the order found, or it is refused. */
export const onCurrentOrder = (
  options: StepOptions,
  io: CommandIo,
  act: (place: StepContext, build: Build, current: InHand) => Promise<StepVerdict>,
): Promise<StepVerdict> =>
  inRun(options, io, async (place) => {
    const build = await openBuild(place, { allowExempt: false });
    if ('problem' in build) return no('config', build.problem);
    const found = inHand(build);
    if ('problem' in found) return no('config', found.problem);
    return act(place, build, found);
  });
