/** What claude's own last line means when it says that the work failed. */
import type { AgentReport, Park } from '../agent.ts';
import { classOfStatus, parkOf } from '../program/status.ts';
import type { ClaudeEvents, ClaudeResult } from './events.ts';

type Failed = Extract<AgentReport, { kind: 'failed' }>;
export type Trouble = Pick<Failed, 'class' | 'park' | 'retryAfterMs'>;

/** Its own ends; any other failed call of the model has a status or a word. */
const endings: Readonly<Record<string, string>> = {
  error_max_turns: 'it ran out of turns (claude.max_turns allows more)',
  error_max_budget_usd: 'it reached its own budget (--max-budget-usd in claude.args)',
  error_max_structured_output_retries: 'it gave no answer that fits the schema',
  error_during_execution: 'it broke while at work',
};

/** The subtype in words. */
export const endingOf = (subtype: string): string | undefined =>
  Object.hasOwn(endings, subtype) ? endings[subtype] : undefined;

/** Whose failure it is; `now` is in milliseconds since 1970. Only its structured fields count, never its prose. */
export function troubleOf(result: ClaudeResult | undefined, events: ClaudeEvents, now: number): Trouble {
  const until = events.limitedUntilMs;
  if (until !== undefined && (events.trouble === 'rate_limit' || result?.status === 429)) {
    return {
      class: 'infra',
      park: { kind: 'quota', wakeAtMs: until },
      retryAfterMs: Math.max(0, until - now),
    };
  }
  if (result?.status !== undefined) {
    const park: Park | undefined =
      events.trouble === 'billing_error' ? { kind: 'billing' } : parkOf(result.status);
    return {
      class: park?.kind === 'billing' ? 'config' : classOfStatus(result.status),
      ...(park === undefined ? {} : { park }),
    };
  }
  switch (events.trouble) {
    case 'authentication_failed':
    case 'oauth_org_not_allowed':
      return { class: 'config', park: { kind: 'auth' } };
    case 'billing_error':
      return { class: 'config', park: { kind: 'billing' } };
    case 'rate_limit':
      return { class: 'infra', park: { kind: 'quota', unsaid: true } };
    case 'overloaded':
    case 'server_error':
      return { class: 'infra' };
    case 'model_not_found':
      return { class: 'config' };
    default:
      return { class: 'agent' };
  }
}
