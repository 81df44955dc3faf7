/** What every `factory order …` step has in common: where it stands, and how it says what came of it. */
import { type CommandIo, conclude, type Place, placeOf, type Verdict } from '../builder/tool.ts';
import type { JsonObject } from '../model/json.ts';
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
    return await conclude(io, options.json === true, await act(place));
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
