/** How much a tool loop may take: turns, tokens, time. Pure. */
import type { Loop } from './mode.ts';
import type { Turn } from './request.ts';

/** What has been taken so far; `turn` is the one that would begin, from 1, and `sends` the tokens that it would send at
 *  least. */
export type Taken = {
  readonly turn: number;
  readonly tokens: number;
  readonly sends: number;
  readonly elapsedMs: number;
};

/** Why no further turn may begin, or undefined. */
export function limitReached(loop: Loop, { turn, tokens, sends }: Taken): string | undefined {
  const { maxTurns, maxTokens } = loop;
  if (turn > maxTurns) return `the work was not done within ${maxTurns} turns (max_turns)`;
  if (maxTokens === undefined) return undefined;
  const reason = `the work was not done within ${maxTokens} tokens (max_tokens; ${tokens} were used`;
  if (tokens >= maxTokens) return `${reason})`;
  return tokens + sends > maxTokens ? `${reason}, and the next call would send about ${sends})` : undefined;
}

/** Announces each limit to the model once when it comes near, and the last turn. */
export function limitNotes(
  { maxTurns, maxTokens, finish }: Loop,
  timeoutMs: number | undefined,
): (taken: Taken) => string | undefined {
  const announced = new Set<string>();
  return ({ turn, tokens, elapsedMs }) => {
    const left = maxTurns - turn + 1;
    const near: string[] = [];
    const announce = (limit: string, isNear: boolean, text: string) => {
      if (!isNear || announced.has(limit)) return;
      announced.add(limit);
      near.push(text);
    };
    announce('last', left === 1, 'this is your last turn');
    announce('turns', left > 1 && left <= Math.max(3, Math.floor(maxTurns / 10)), `${left} turns are left`);
    if (maxTokens !== undefined)
      announce('tokens', tokens >= 0.8 * maxTokens, `${Math.max(0, maxTokens - tokens)} tokens are left`);
    if (timeoutMs !== undefined) {
      const seconds = Math.max(0, Math.round((timeoutMs - elapsedMs) / 1000));
      announce('time', elapsedMs >= 0.8 * timeoutMs, `${seconds} seconds are left`);
    }
    if (near.length === 0) return undefined;
    return `[note: ${near.join(', ')}: come to an end${finish ? ' and call finish' : ' and give your answer'}]`;
  };
}

/** Tokens that the next call sends at least: `before`, by the server's count of the call before it, and about those of the
 *  `fresh` turns since then (of a model's turn reasoning is not sent again). */
export const tokensToSend = (before: number | undefined, fresh: readonly Turn[]): number =>
  (before ?? 0) + fresh.reduce((sum, turn) => sum + Math.ceil(Buffer.byteLength(textOf(turn)) / 4), 0);

const textOf = (turn: Turn): string =>
  turn.by === 'model' ? [turn.text, ...turn.calls.map((call) => call.arguments)].join('') : turn.text;
