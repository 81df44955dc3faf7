/** When an agent is to be stopped although its time is not up: it is silent, or it goes round in circles. */
import type { AgentAction } from '../agents/agent.ts';
import type { Clock } from '../system/clock.ts';

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
  let calls: { readonly identity: string; readonly at: Date }[] = [];
  let looking = false;

  const give = (reason: string): void => {
    if (why !== undefined || over.signal.aborted) return;
    why = reason;
    stop.abort(reason);
  };
  const silence = async (ms: number): Promise<void> => {
    for (;;) {
      const left = last + ms - clock.monotonic();
      if (left <= 0) return give(`it was silent for ${ms / 1000}s (stall_timeout)`);
      // Timers go off at once when asked to wait for weeks.
      await clock.sleep(Math.min(left, 2 ** 30), over.signal);
      if (over.signal.aborted) return;
    }
  };
  if (silentMs !== undefined && silentMs > 0) void silence(silentMs);

  const look = async (round: number, shown: string): Promise<void> => {
    const from = calls.at(-round * sameCalls)?.at ?? clock.now();
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
      calls.push({ identity, at: clock.now() });
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
