/** What the HTTP status of a model's server means, whichever program met it. */
import type { FailureClass } from '../../model/outcome.ts';
import type { Park } from '../../model/park.ts';

/** Whether the server, or a gateway before it, is down or overloaded: 502 to 504, and those of content networks (529 is
 *  "overloaded"). An internal error (500) may be this request's own. */
export const isDown = (status: number): boolean => (status >= 502 && status <= 504) || status >= 520;

/** What an HTTP status waits for: a fix, the end of an outage, or a rate limit's end, where the server says when (`waitMs`, in
 *  milliseconds) and where it does not. */
export function parkOf(status: number, waitMs?: number): Park | undefined {
  if (status === 401 || status === 403) return { kind: 'auth' };
  if (status === 402) return { kind: 'billing' };
  if (isDown(status)) return { kind: 'outage' };
  if (status !== 429) return undefined;
  return waitMs === undefined ? { kind: 'quota', unsaid: true } : { kind: 'quota' };
}

const unreachable =
  /\bECONN(?:REFUSED|RESET|ABORTED)\b|\bETIMEDOUT\b|\bEAI_AGAIN\b|\bENOTFOUND\b|\bconnection (?:refused|reset|timed out|error)\b|\bcould ?n[o']t (?:connect|resolve host)\b|\bunable to connect\b|\btemporary failure in name resolution\b/i;
const inTrouble = /\boverloaded(?:_error)?\b|\bservice unavailable\b|\bbad gateway\b|\bgateway time-?out\b/i;

/** Whether a program's own line about its failure reports a provider that is down: by the status, else by words. */
export function saysOutage(line: string): boolean {
  const status = /\b(?:status(?: code)?|HTTP(?:\/[\d.]+)?|error(?: code)?)[\s:=("']*(\d{3})\b/i.exec(
    line,
  )?.[1];
  return status === undefined ? unreachable.test(line) || inTrouble.test(line) : isDown(Number(status));
}

/** Whose failure an HTTP status is. */
export function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'config';
  return status === 408 || status === 429 || status >= 500 ? 'infra' : 'agent';
}
