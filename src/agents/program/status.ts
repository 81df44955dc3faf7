/** What the HTTP status of a model's server means, whichever program met it. */
import type { FailureClass } from '../../model/outcome.ts';

/** What keeps anything from going on until somebody mends it, or time passes. */
export type Park = 'quota' | 'auth' | 'billing';

/** What an HTTP status asks somebody to mend. */
export const parkOf = (status: number): Park | undefined =>
  status === 401 || status === 403 ? 'auth' : status === 402 ? 'billing' : undefined;

/** Whose failure an HTTP status is. */
export function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'config';
  return status === 408 || status === 429 || status >= 500 ? 'infra' : 'agent';
}
