/** What every `factory order …` step has in common: where it stands, and how it says what came of it. */
import { isStrayState } from '../builder/recorded.ts';
import { isForeignState } from '../builder/state.ts';
import { type CommandIo, conclude, contextOf, type Place, placeOf, type Verdict } from '../builder/tool.ts';
import type { JsonObject } from '../model/json.ts';
import { inWorkspace } from '../model/layout.ts';
import type { FailureClass } from '../model/outcome.ts';
import { exitOfDisk, tellsOfDisk } from '../system/disk-trouble.ts';
import { GitError } from '../system/git.ts';

export type OrderOptions = { readonly json?: boolean; readonly run?: string };

export const yes = (notes: string, more: { label?: string; updates?: JsonObject } = {}): Verdict => ({
  ok: true,
  notes,
  ...more,
});
export const no = (
  why: FailureClass,
  notes: string,
  more: { label?: string; updates?: JsonObject } = {},
): Verdict => ({
  ok: false,
  class: why,
  notes,
  ...more,
});

/** Finds the run, does the step, says what came of it. What the world does is a verdict; a throw is our fault. */
export async function step(
  options: OrderOptions,
  io: CommandIo,
  act: (place: Place) => Promise<Verdict>,
): Promise<number> {
  const place = await placeOf(io, options.run);
  if ('problem' in place) return conclude(io, options.json === true, no('config', place.problem));
  try {
    const verdict =
      (await isForeignState(place)) || (await isStrayState(place, await contextOf(io)))
        ? no(
            'guardrail',
            `${inWorkspace.orderState} is not as the build has left it: what is built, a check of it or the project itself has written there; take that file out of the project, or fork the run from before the stage that wrote it (factory fork RUN --at NODE --before)`,
          )
        : await act(place);
    return await conclude(io, options.json === true, verdict);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    // What a full disk has stopped is made again when there is space.
    if (tellsOfDisk(error.message)) {
      io.err(`${error.message}\n`);
      return exitOfDisk('order', io.env);
    }
    const why = error.missing ? 'config' : error.unanswered ? 'infra' : 'internal';
    return conclude(io, options.json === true, no(why, error.message));
  }
}
