/** Whether an answer says that there were too many requests. */
import type { HttpAnswer } from '../platform/http.ts';

/** How long to wait where a limit does not say it; GitHub's documentation names a minute. */
const unsaidMs = 60_000;

/** The time from which GitHub answers again; undefined if this is no limit: a 403 may also mean that something is forbidden. */
export function limitedUntil(answer: HttpAnswer, now: Date): Date | undefined {
  const { status, header, body } = answer;
  if (status !== 403 && status !== 429) return undefined;
  const named = namedTime(answer, now, header('x-ratelimit-remaining') === '0');
  if (named !== undefined) return named;
  const isLimit = status === 429 || limitWords.test(body.slice(0, 10_000));
  return isLimit ? new Date(now.getTime() + unsaidMs) : undefined;
}

const limitWords = /\b(?:rate limit|abuse detection)\b/i;

/** The same of a GraphQL query, whose limits come with status 200; `type` and `message` are those of its error. */
export function queryLimitedUntil(
  answer: HttpAnswer,
  { type, message }: { readonly type?: unknown; readonly message?: unknown },
  now: Date,
): Date | undefined {
  // GitHub's documentation has the one type, its servers send the other.
  const isLimit = type === 'RATE_LIMITED' || type === 'RATE_LIMIT';
  if (!isLimit && !(type === undefined && limitWords.test(String(message)))) return undefined;
  // Its header may name requests that are left.
  return namedTime(answer, now, isLimit) ?? new Date(now.getTime() + unsaidMs);
}

/** The time that the answer itself names. */
function namedTime({ header }: HttpAnswer, now: Date, isUsedUp: boolean): Date | undefined {
  const after = header('retry-after');
  if (after !== undefined) return laterThan(now, retryTime(after, now));
  const reset = Number(header('x-ratelimit-reset'));
  return isUsedUp && Number.isFinite(reset) && reset > 0 ? laterThan(now, new Date(reset * 1000)) : undefined;
}

/** `Retry-After`: seconds or a date. */
function retryTime(text: string, now: Date): Date {
  const seconds = Number(text);
  const at = Number.isFinite(seconds) ? now.getTime() + Math.max(0, seconds) * 1000 : Date.parse(text);
  return new Date(Number.isNaN(at) ? now.getTime() + unsaidMs : at);
}

/** The clocks of two machines differ: a time that has passed here is no reason to ask at once, again and again. */
const laterThan = (now: Date, until: Date): Date =>
  until.getTime() > now.getTime() ? until : new Date(now.getTime() + 1000);
