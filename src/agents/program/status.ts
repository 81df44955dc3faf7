/** What the HTTP status of a model's server means, whichever program met it. */
import type { FailureClass } from '../../model/outcome.ts';
import type { Park } from '../../model/park.ts';

/** What an HTTP status waits for: a fix, or a rate limit's end, where the server says when (`waitMs`, in milliseconds)
 *  and where it does not. */
export function parkOf(status: number, waitMs?: number): Park | undefined {
  if (status === 401 || status === 403) return { kind: 'auth' };
  if (status === 402) return { kind: 'billing' };
  if (status !== 429) return undefined;
  return waitMs === undefined ? { kind: 'quota', unsaid: true } : { kind: 'quota' };
}

/** Whose failure an HTTP status is. */
export function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'config';
  return status === 408 || status === 429 || status >= 500 ? 'infra' : 'agent';
}
