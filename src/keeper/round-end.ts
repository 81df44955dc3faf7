/** How the round of a pull request ends whose run has ended. */
import { isPassingFailure } from '../git/push.ts';
import type { FollowRound } from './follow-record.ts';

/** `person`: why its commits cannot be pushed; `sleeps`: why they are pushed another time. */
export type RoundEnd =
  | NonNullable<FollowRound['ended']>
  | { readonly person: string }
  | { readonly sleeps: string };

/** Of a push that has failed. */
export const unpushed = (what: string, why: string, stderr: string): RoundEnd => {
  const words = `${what} could not be pushed: ${why}`;
  return isPassingFailure(stderr) ? { sleeps: words } : { person: words };
};
