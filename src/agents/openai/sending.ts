/** How many tokens the next call of a talk will send, at least. Pure. */
import type { Turn } from './talk.ts';

/** Tokens of a text, roughly: four bytes each. */
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** By the server's own count of the call before, which had all turns but the `fresh` ones; of these what is sent again
 *  (thoughts are not). Without such a count, which the first call lacks, the texts of the turns alone. */
export const tokensToSend = (before: number | undefined, fresh: readonly Turn[]): number =>
  (before ?? 0) + fresh.reduce((sum, turn) => sum + tokensIn(textOf(turn)), 0);

const textOf = (turn: Turn): string =>
  turn.by === 'model' ? [turn.text, ...turn.calls.map((call) => call.arguments)].join('') : turn.text;
