/** Whether the commits of a run have reached a repository of the user: every delivery is recorded in `acts.jsonl`. */
import type { Clock } from '../core/contracts/clock.ts';
import type { RunResult } from '../core/records/result.ts';
import { systemWords } from '../platform/files/write.ts';
import { readActs, recordAct, thisUser } from './acts.ts';

/** Null for a run with nothing to deliver: it did not complete, or made no commit. `result` is null without one. */
export function isDelivered(
  runDir: string,
  result: {
    readonly status: RunResult['status'];
    readonly commits: readonly { readonly commit: string | null }[];
  } | null,
): boolean | null {
  if (result?.status !== 'completed' || !result.commits.some(({ commit }) => commit !== null)) return null;
  return readActs(runDir).some(({ what }) => what === 'deliver');
}

export type Delivery = {
  /** The repository, absolute. */
  readonly to: string;
  readonly branch: string;
  readonly head: string;
  /** Default: the user of this process. */
  readonly who?: string;
};

/** Records that the commits of the run are on a branch. A record that cannot be written changes nothing about that: `warn` is
 *  called. */
export function recordDelivery(
  runDir: string,
  { who = thisUser(), ...delivery }: Delivery,
  clock: Pick<Clock, 'now'>,
  warn: (message: string) => void,
): void {
  try {
    recordAct(runDir, { who, what: 'deliver', ...delivery }, clock);
  } catch (error) {
    warn(`the delivery is not recorded in the run: ${systemWords(error)}`);
  }
}
