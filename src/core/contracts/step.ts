/** What a step of a plan or a build answers, for the engine and for people. */
import type { JsonObject } from '../json.ts';
import type { FailureClass } from '../outcome.ts';

type More = {
  readonly label?: string;
  readonly updates?: JsonObject;
  /** Printed instead of the notes. */
  readonly shown?: { readonly out?: string; readonly err?: string; readonly json: JsonObject };
  /** Exit code, if it is not 0 for a success and 1 for a failure. */
  readonly code?: number;
};

export type StepVerdict = More & {
  /** One line for people; the reason of a failure. */
  readonly notes: string;
} & ({ readonly ok: true } | { readonly ok: false; readonly class: FailureClass });

export const yes = (notes: string, more: More = {}): StepVerdict => ({ ok: true, notes, ...more });
export const no = (why: FailureClass, notes: string, more: More = {}): StepVerdict => ({
  ok: false,
  class: why,
  notes,
  ...more,
});
