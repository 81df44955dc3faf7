/** What the HTTP status of a model's server means, whichever program met it. */
import type { FailureClass } from '../../model/outcome.ts';
import type { ParkKind } from '../../model/park.ts';

/** What an HTTP status asks somebody to mend. A rate limit is worth waiting for where the server says for how long
 *  (`waitMs`, in milliseconds); otherwise it is tried again like any other trouble. */
export function parkOf(status: number, waitMs?: number): ParkKind | undefined {
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'billing';
  return status === 429 && waitMs !== undefined ? 'quota' : undefined;
}

/** Whose failure an HTTP status is. */
export function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'config';
  return status === 408 || status === 429 || status >= 500 ? 'infra' : 'agent';
}
