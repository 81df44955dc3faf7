/** What codex's own failure events mean: whose failure it is, and how long to wait. */
import type { FailureClass } from '../../model/outcome.ts';
import type { ParkKind } from '../../model/park.ts';

export type Trouble = {
  readonly class: FailureClass;
  readonly retryAfterMs?: number;
  readonly park?: { readonly kind: ParkKind };
};

/** The messages are the program's own sentences; each is known from its beginning, since a server's text may follow. */
const known: readonly (readonly [RegExp, FailureClass, ParkKind?])[] = [
  [/^Quota exceeded/i, 'config', 'billing'],
  [/^Missing environment variable/i, 'config'],
  [
    /^(?:Your )?(?:access token|refresh token|login|session)\b.*\b(?:expired|revoked|invalid|could not)/i,
    'config',
    'auth',
  ],
  [/^You(?:'|’)ve hit your usage limit/i, 'infra', 'quota'],
  [/^rate limit exceeded/i, 'infra', 'quota'],
  [/^We(?:'|’)re currently experiencing high demand/i, 'infra'],
  [/^Selected model is at capacity/i, 'infra'],
  [
    /^(?:Reconnecting|Connection failed|stream disconnected|stream error|error sending request|timeout waiting)/i,
    'infra',
  ],
];

/** Whose failure the message of a `turn.failed` or `error` event is. */
export function troubleOf(message: string): Trouble {
  const wait = waitIn(message);
  const told = (failureClass: FailureClass, park?: ParkKind): Trouble => ({
    class: failureClass,
    ...(failureClass === 'infra' && wait !== undefined ? { retryAfterMs: wait } : {}),
    // A rate limit that does not say for how long is tried again like any other trouble; a usage limit lasts.
    ...(park === undefined || (park === 'quota' && wait === undefined && !/usage limit/i.test(message))
      ? {}
      : { park: { kind: park } }),
  });
  const status = /^(?:unexpected status|exceeded retry limit, last status:) (\d{3})\b/.exec(message)?.[1];
  if (status !== undefined) return told(classOfStatus(Number(status)), parkOfStatus(Number(status)));
  const found = known.find(([pattern]) => pattern.test(message));
  return told(found?.[1] ?? 'agent', found?.[2]);
}

function parkOfStatus(status: number): ParkKind | undefined {
  if (status === 402) return 'billing';
  if (status === 429) return 'quota';
  return status === 401 || status === 403 ? 'auth' : undefined;
}

function classOfStatus(status: number): FailureClass {
  if (status === 401 || status === 402 || status === 403) return 'config';
  return status === 408 || status === 429 || status >= 500 ? 'infra' : 'agent';
}

/** Milliseconds, where the message says when to come back. */
function waitIn(message: string): number | undefined {
  const found = /try again in (\d+(?:\.\d+)?) ?(ms|s|seconds?|m|minutes?|h|hours?)\b/i.exec(message);
  if (found?.[1] === undefined) return undefined;
  const unit = found[2]?.toLowerCase() ?? 's';
  const each = unit === 'ms' ? 1 : unit.startsWith('s') ? 1000 : unit.startsWith('m') ? 60_000 : 3_600_000;
  return Math.ceil(Number(found[1]) * each);
}
