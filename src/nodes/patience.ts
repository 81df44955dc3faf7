/** When an agent is to be stopped although its time is not up: it is silent, or it goes round in circles. */
import type { AgentAction } from '../agents/agent.ts';
import { type Clock, silence } from '../system/clock.ts';

export type Patience = {
  /** Fires when the agent is to be stopped. */
  readonly signal: AbortSignal;
  /** A sign of life. */
  heard(): void;
  /** Something it did; a sign of life too. */
  acted(action: AgentAction): void;
  /** Why it was stopped; undefined while it is not. */
  readonly why: string | undefined;
  end(): void;
};

/** Rounds of more different calls than this are not looked for. */
const longestRound = 3;

/** Watches one attempt. `silentMs` without a sign of life, or `sameCalls` rounds of the same call (or of the same two or
 *  three in turn) during which nothing in the workspace has changed, and the signal fires; 0 or undefined never does. */
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
    // What was written since a clock was set back bears an earlier time than what was done before.
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
      // A workspace that cannot be looked at is judged when the stage has ended.
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

/** The length of the shortest round that the last calls repeat `times` times; undefined when there is none. */
export function roundOf(calls: readonly string[], times: number): number | undefined {
  for (let round = 1; round <= longestRound; round++) {
    const needed = round * times;
    if (calls.length < needed) return undefined;
    const tail = calls.slice(-needed);
    if (tail.every((call, i) => i < round || call === tail[i - round])) return round;
  }
  return undefined;
}
