/** Detects a stalled agent: it is silent, or it repeats the same calls. */
import type { AgentAction } from '../core/contracts/agent.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { silence } from '../platform/clock.ts';

export type Patience = {
  /** Aborted when the agent must stop. */
  readonly signal: AbortSignal;
  /** Records output of the agent. */
  heard(): void;
  /** Records an action of the agent, which also counts as output. */
  acted(action: AgentAction): void;
  /** Why it was stopped; undefined until then. */
  readonly why: string | undefined;
  end(): void;
};

/** The most different calls in a repeated round. */
const longestRound = 3;

/** Watches one attempt. Aborts the signal after `silentMs` without output, or after `sameCalls` rounds of the same call
 *  (or of the same two or three in turn) without a change in the workspace; 0 or undefined disables a check. */
export function patience(options: {
  readonly clock: Clock;
  readonly silentMs: number | undefined;
  readonly sameCalls: number;
  /** Whether anything in the workspace has changed since that time. */
  readonly changedSince: (at: Date) => Promise<boolean>;
}): Patience {
  const { clock, silentMs, sameCalls } = options;
  const stop = new AbortController();
  const over = new AbortController();
  let why: string | undefined;
  let last = clock.monotonic();
  let calls: { readonly identity: string; readonly at: Date; readonly monotonic: number }[] = [];
  let looking = false;

  const give = (reason: string): void => {
    if (why !== undefined || over.signal.aborted) return;
    why = reason;
    stop.abort(reason);
  };
  if (silentMs !== undefined && silentMs > 0)
    void silence(clock, () => last, silentMs, over.signal).then(
      (is) => is && give(`it was silent for ${silentMs / 1000}s (stall_timeout)`),
    );

  const look = async (round: number, shown: string): Promise<void> => {
    const first = calls.at(-round * sameCalls);
    const now = clock.now().getTime();
    // If the clock was set back, later files have earlier times: use the earlier of both clocks.
    const since = first === undefined ? now : now - (clock.monotonic() - first.monotonic);
    const from = new Date(Math.min(first?.at.getTime() ?? now, since));
    looking = true;
    try {
      if (await options.changedSince(from)) calls = [];
      else {
        const what = round === 1 ? 'the same call' : `the same ${round} calls`;
        give(
          `it made ${what} ${sameCalls} times without a change in the workspace (max_same_calls): ${shown}`,
        );
      }
    } catch {
      // If the workspace cannot be read, the engine reports that when the node ends.
      calls = [];
    } finally {
      looking = false;
    }
  };

  return {
    signal: stop.signal,
    heard() {
      last = clock.monotonic();
    },
    acted(action) {
      last = clock.monotonic();
      if (sameCalls === 0 || looking || why !== undefined) return;
      const identity = action.identity ?? `${action.action} ${action.detail}`;
      calls.push({ identity, at: clock.now(), monotonic: clock.monotonic() });
      if (calls.length > longestRound * sameCalls) calls.shift();
      const round = roundOf(
        calls.map((call) => call.identity),
        sameCalls,
      );
      if (round !== undefined) void look(round, action.detail.slice(0, 200));
    },
    get why() {
      return why;
    },
    end: () => over.abort(),
  };
}

/** The length of the shortest round that the last calls repeat `times` times; undefined if there is none. */
export function roundOf(calls: readonly string[], times: number): number | undefined {
  for (let round = 1; round <= longestRound; round++) {
    const needed = round * times;
    if (calls.length < needed) return undefined;
    const tail = calls.slice(-needed);
    if (tail.every((call, i) => i < round || call === tail[i - round])) return round;
  }
  return undefined;
}
