/** What codex's own failure events mean: whose failure it is, and how long to wait. */
import type { FailureClass } from '../../model/outcome.ts';
import type { Park, ParkKind } from '../../model/park.ts';
import { classOfStatus, parkOf } from '../program/status.ts';
import { saidWait } from '../said-wait.ts';

export type Trouble = {
  readonly class: FailureClass;
  readonly retryAfterMs?: number;
  /** The key that it needs is not here. */
  readonly missing?: true;
  readonly park?: Park;
};

/** The messages are the program's own sentences; each is known from its beginning, since a server's text may follow. */
const known: readonly (readonly [RegExp, FailureClass, (ParkKind | 'missing')?])[] = [
  [
    /^(?:Quota exceeded|Your workspace is out of credits|You(?:(?:'|’)ve)? hit your spend cap)/i,
    'config',
    'billing',
  ],
  [/^To use Codex with your ChatGPT plan, upgrade/i, 'config', 'billing'],
  [/^Missing environment variable/i, 'config', 'missing'],
  [
    /^(?:Your )?(?:access token|refresh token|login|session)\b.*\b(?:expired|revoked|invalid|could not)/i,
    'config',
    'auth',
  ],
  [/^You(?:'|’)ve hit your usage limit/i, 'infra', 'quota'],
  [/^rate limit exceeded/i, 'infra', 'quota'],
  [/^We(?:'|’)re currently experiencing high demand/i, 'infra', 'outage'],
  [/^Selected model is at capacity/i, 'infra', 'outage'],
  [
    /^(?:Reconnecting|Connection failed|stream disconnected|stream error|error sending request|timeout waiting)/i,
    'infra',
    'outage',
  ],
];

/** Whose failure the message of a `turn.failed` or `error` event is. */
export function troubleOf(message: string, now: Date): Trouble {
  const wait = saidWait(message, now);
  const trouble = (failureClass: FailureClass, park?: Park): Trouble => ({
    class: failureClass,
    ...(failureClass === 'infra' && wait !== undefined ? { retryAfterMs: wait } : {}),
    ...(park === undefined ? {} : { park }),
  });
  const status = /^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b/.exec(message)?.[1];
  if (status !== undefined) return trouble(classOfStatus(Number(status)), parkOf(Number(status), wait));
  const found = known.find(([pattern]) => pattern.test(message));
  const waitsFor = found?.[2];
  if (waitsFor === undefined || waitsFor === 'missing')
    return { ...trouble(found?.[1] ?? 'agent'), ...(waitsFor === undefined ? {} : { missing: true }) };
  // A usage limit lasts; a rate limit that does not say for how long may be over soon.
  const unsaid = waitsFor === 'quota' && wait === undefined && !/usage limit/i.test(message);
  return trouble(found?.[1] ?? 'agent', { kind: waitsFor, ...(unsaid ? { unsaid } : {}) });
}
