/** Why claude failed, from its final event, its words and the status of its provider. */

import type { AgentReport } from '../core/contracts/agent.ts';
import type { FailureClass, Park, ParkKind } from '../core/outcome.ts';
import type { ClaudeEvents, ClaudeResult } from './claude-events.ts';
import { classOfStatus, parkOf, saysOutage, waitNamed } from './program/failure.ts';

type Failed = Extract<AgentReport, { kind: 'failed' }>;
export type ClaudeEnding = Pick<Failed, 'class' | 'park' | 'retryAfterMs'>;

/** Its own ends; any other failed call of the model has a status or a word. */
const endings: Readonly<Record<string, string>> = {
  error_max_turns: 'it ran out of turns (claude.max_turns allows more)',
  error_max_budget_usd: 'it reached its own budget (--max-budget-usd in claude.args)',
  error_max_structured_output_retries: 'it gave no answer that fits the schema',
  error_during_execution: 'it broke while at work',
};

/** The subtype in words. */
export const claudeEnding = (subtype: string): string | undefined =>
  Object.hasOwn(endings, subtype) ? endings[subtype] : undefined;

/** The program's own sentences about its provider; each is known from its beginning, since a server's text may follow. A program
 *  that failed before its first event has no other word. */
const sentences: readonly (readonly [RegExp, FailureClass, ParkKind?])[] = [
  [/^(?:your )?credit balance is too low/i, 'config', 'billing'],
  [
    /^(?:invalid API key|not logged in|OAuth token\b|failed to authenticate|please run \/login)/i,
    'config',
    'auth',
  ],
  [/^rate limit (?:reached|exceeded)\b/i, 'infra', 'quota'],
  [/^you(?:'|’)?ve (?:hit|reached) your [\w -]*\blimit\b/i, 'infra', 'quota'],
  // A limit of its context has no time at which it is lifted.
  [/^[\w -]{0,40}\blimit reached\b.*(?:\bresets?\b|\|\d{10})/i, 'infra', 'quota'],
  [/^(?:connection error|request timed out|overloaded)/i, 'infra', 'outage'],
];

/** Whose failure it is by what it said last; `now` is in milliseconds since 1970. */
function troubleIn(message: string, now: number): ClaudeEnding | undefined {
  const text = message.replace(/^API Error: */i, '');
  const status = text === message ? undefined : /^\(?(\d{3})\b/.exec(text)?.[1];
  if (status !== undefined) return troubleOfStatus(Number(status), undefined);
  const found = sentences.find(([pattern]) => pattern.test(text));
  if (found === undefined)
    return text !== message && saysOutage(text) ? { class: 'infra', park: { kind: 'outage' } } : undefined;
  const [, failureClass, kind] = found;
  if (kind !== 'quota') return { class: failureClass, ...(kind === undefined ? {} : { park: { kind } }) };
  const wait = waitNamed(text, new Date(now));
  if (wait !== undefined) return { class: failureClass, retryAfterMs: wait, park: { kind } };
  // A rate limit may be over soon; any other limit lasts.
  return { class: failureClass, park: { kind, ...(/^rate limit /i.test(text) ? { unsaid: true } : {}) } };
}

function troubleOfStatus(status: number, word: string | undefined): ClaudeEnding {
  const park: Park | undefined = word === 'billing_error' ? { kind: 'billing' } : parkOf(status);
  return {
    class: park?.kind === 'billing' ? 'config' : classOfStatus(status),
    ...(park === undefined ? {} : { park }),
  };
}

/** Whose failure it is; `now` is in milliseconds since 1970. Its structured fields count first; without any, the sentence that it
 *  ended with. */
export function claudeFailure(
  result: ClaudeResult | undefined,
  events: ClaudeEvents,
  message: string,
  now: number,
): ClaudeEnding {
  const until = events.limitedUntilMs;
  if (until !== undefined && (events.trouble === 'rate_limit' || result?.status === 429)) {
    return {
      class: 'infra',
      park: { kind: 'quota', wakeAtMs: until },
      retryAfterMs: Math.max(0, until - now),
    };
  }
  if (result?.status !== undefined) return troubleOfStatus(result.status, events.trouble);
  switch (events.trouble) {
    case 'authentication_failed':
    case 'oauth_org_not_allowed':
      return { class: 'config', park: { kind: 'auth' } };
    case 'billing_error':
      return { class: 'config', park: { kind: 'billing' } };
    case 'rate_limit':
      return troubleIn(message, now) ?? { class: 'infra', park: { kind: 'quota', unsaid: true } };
    case 'overloaded':
    case 'server_error':
      return { class: 'infra', park: { kind: 'outage' } };
    case 'model_not_found':
      return { class: 'config' };
    default:
      return troubleIn(message, now) ?? { class: 'agent' };
  }
}
