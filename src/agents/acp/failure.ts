/** Whose failure an error is that a program answers with. */
import { isObject } from '../../core/json.ts';
import type { FailureClass, Park } from '../../core/outcome.ts';
import { classOfStatus, parkOf, saysOutage, waitNamed } from '../program/failure.ts';
import type { AcpPreset } from './presets.ts';
import { type AcpEnd, authRequired } from './talk.ts';

type AcpFailure = {
  readonly class: FailureClass;
  readonly reason: string;
  readonly retryAfterMs?: number;
  readonly park?: Park;
};

/** The failure that an error in answer to a request is. */
export function acpFailure(
  { to, error }: Extract<AcpEnd, { readonly kind: 'error' }>,
  now: Date,
  preset: AcpPreset | undefined,
): AcpFailure {
  const message = messageOf(error);
  const reason = `\`${to}\` was answered with "${message}" (${error.code})`;
  if (error.code === authRequired)
    return {
      class: 'config',
      reason: `it has no login: ${reason}. Log in with the program itself, or give it its key (acp.env_keys)`,
      park: { kind: 'auth' },
    };
  const status = error.code >= 400 && error.code < 600 ? error.code : undefined;
  const known = providerFailure(message, now, preset, status);
  // What it refuses before the prompt is about the task's settings.
  return { reason, ...(known ?? { class: to === 'session/prompt' ? 'agent' : 'config' }) };
}

/** Whose failure a provider's is, by its HTTP status (in the words, if none is given), else by the words; undefined where they do
 *  not show it. */
export function providerFailure(
  message: string,
  now: Date,
  preset: AcpPreset | undefined,
  given?: number,
): Omit<AcpFailure, 'reason'> | undefined {
  const status = given ?? statusIn(message);
  if (status !== undefined) {
    const wait = waitNamed(message, now);
    const park = parkOf(status, wait);
    return {
      class: classOfStatus(status),
      ...(wait === undefined ? {} : { retryAfterMs: wait }),
      ...(park === undefined ? {} : { park }),
    };
  }
  const own = preset?.failureOf?.(message.replace(/^Internal error: /, ''), now);
  if (own !== undefined && own.class !== 'agent') return own;
  return saysOutage(message) ? { class: 'infra', park: { kind: 'outage' } } : undefined;
}

/** Its words, with those in `data`: the message alone may be "Internal error". */
function messageOf({ message, data }: { readonly message: string; readonly data?: unknown }): string {
  const details = isObject(data) ? (data['details'] ?? data['message']) : data;
  const more = typeof details === 'string' && details !== '' ? `: ${details}` : '';
  return `${message}${more}`.slice(0, 600);
}

/** An HTTP status of the model's server. */
function statusIn(message: string): number | undefined {
  const named = /\b(?:status(?: code)?|HTTP(?:\/[\d.]+)?|error(?: code)?)[\s:=("']*([45]\d\d)\b/i.exec(
    message,
  )?.[1];
  return named === undefined ? undefined : Number(named);
}
