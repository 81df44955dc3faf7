/** How much a tool loop may take: turns, tokens, time. Pure. */
import type { Loop } from './mode.ts';

/** What has been taken so far; `turn` is the one that would begin, from 1, and `sends` what it would send at least. */
export type Taken = {
  readonly turn: number;
  readonly tokens: number;
  readonly sends: number;
  readonly elapsedMs: number;
};

/** Why no further turn may begin, or undefined. */
export function capReached(
  { maxTurns, maxTokens }: Loop,
  { turn, tokens, sends }: Taken,
): string | undefined {
  if (turn > maxTurns) return `the work was not done within ${maxTurns} turns (max_turns)`;
  if (maxTokens !== undefined && tokens >= maxTokens)
    return `the work was not done within ${maxTokens} tokens (max_tokens; ${tokens} were used)`;
  if (maxTokens !== undefined && tokens + sends > maxTokens)
    return `the work was not done within ${maxTokens} tokens (max_tokens; ${tokens} were used, and the next call would send about ${sends})`;
  return undefined;
}

/** Tells of each limit once when it comes near, and again before the last turn. */
export function nearness(
  { maxTurns, maxTokens, finish }: Loop,
  timeoutMs: number | undefined,
): (taken: Taken) => string | undefined {
  const told = new Set<string>();
  return ({ turn, tokens, elapsedMs }) => {
    const left = maxTurns - turn + 1;
    const near: (readonly [name: string, near: boolean, words: string])[] = [
      ['last', left === 1, 'this is your last turn'],
      ['turns', left > 1 && left <= Math.max(3, Math.floor(maxTurns / 10)), `${left} turns are left`],
      [
        'tokens',
        maxTokens !== undefined && tokens >= 0.8 * maxTokens,
        `${Math.max(0, (maxTokens ?? 0) - tokens)} tokens are left`,
      ],
      [
        'time',
        timeoutMs !== undefined && elapsedMs >= 0.8 * timeoutMs,
        `${Math.max(0, Math.round(((timeoutMs ?? 0) - elapsedMs) / 1000))} seconds are left`,
      ],
    ];
    const news = near.filter(([name, is]) => is && !told.has(name));
    if (news.length === 0) return undefined;
    for (const [name] of news) told.add(name);
    const what = news.map(([, , words]) => words).join(', ');
    return `[note: ${what}: come to an end${finish ? ' and call finish' : ' and give your answer'}]`;
  };
}
