/** Whose failure an error is that a program answers with. */
import { isObject } from '../../core/json.ts';
import type { FailureClass, Park } from '../../core/outcome.ts';
import { classOfStatus, parkOf, saysOutage, waitNamed } from '../program/failure.ts';
import { type AcpEnd, authRequired } from './talk.ts';

type AcpFailure = {
  readonly class: FailureClass;
  readonly reason: string;
  readonly retryAfterMs?: number;
  readonly park?: Park;
};

export function acpFailure(
  { to, error }: Extract<AcpEnd, { readonly kind: 'error' }>,
  now: Date,
): AcpFailure {
  const message = messageOf(error);
  const reason = `\`${to}\` was answered with "${message}" (${error.code})`;
  if (error.code === authRequired)
    return {
      class: 'config',
      reason: `it has no login: ${reason}. Log in with the program itself, or give it its key (acp.env_keys)`,
      park: { kind: 'auth' },
    };
  const status = statusIn(error.code, message);
  if (status !== undefined) {
    const wait = waitNamed(message, now);
    const park = parkOf(status, wait);
    return {
      ...{ class: classOfStatus(status), reason },
      ...(wait === undefined ? {} : { retryAfterMs: wait }),
      ...(park === undefined ? {} : { park }),
    };
  }
  if (saysOutage(message)) return { class: 'infra', reason, park: { kind: 'outage' } };
  // What it refuses before the prompt is about the task's settings.
  return { class: to === 'session/prompt' ? 'agent' : 'config', reason };
}

/** Its words, with those in `data`: the message alone may be "Internal error". */
function messageOf({ message, data }: { readonly message: string; readonly data?: unknown }): string {
  const details = isObject(data) ? (data['details'] ?? data['message']) : data;
  const more = typeof details === 'string' && details !== '' ? `: ${details}` : '';
  return `${message}${more}`.slice(0, 600);
}

/** An HTTP status of the model's server: as the code, or in the words. */
function statusIn(code: number, message: string): number | undefined {
  if (code >= 400 && code < 600) return code;
  const named = /\b(?:status(?: code)?|HTTP(?:\/[\d.]+)?|error(?: code)?)[\s:=("']*([45]\d\d)\b/i.exec(
    message,
  )?.[1];
  return named === undefined ? undefined : Number(named);
}
