/** What a session and its turns are, in words: the same for terminal and page. */
import { countedItems, usdWords } from './amounts.ts';
import type { Usage } from './budget/usage.ts';

/** How times and tokens are written there. */
type Written = {
  readonly duration: (ms: number) => string;
  readonly tokens: (count: number | null) => string;
};

type Used = { readonly usage: Usage | null; readonly cost_usd: number | null };
type Turn = Used & { readonly ms: number | null; readonly first_ms: number | null };

/** `12.4k in, 812 out`, and the cost. */
function usedWords({ usage, cost_usd }: Used, { tokens }: Written): readonly string[] {
  if (usage === null) return [];
  const { input_tokens: input, output_tokens: output, cached_input_tokens: cached, incomplete } = usage;
  // An agent that names only its cost has reported no tokens.
  const counted = input === null && output === null ? [] : [`${tokens(input)} in, ${outOf(output)} out`];
  return [
    ...counted,
    ...(cached == null || cached === 0 ? [] : [`${tokens(cached)} cached`]),
    ...(cost_usd === null && incomplete === true ? [] : [usdWords(cost_usd)]),
  ];
  function outOf(count: number | null): string {
    return `${incomplete === true && count !== null ? '≥ ' : ''}${tokens(count)}`;
  }
}

type Whole = Used & {
  readonly agent: string | null;
  readonly model: string | null;
  readonly first_ms: number | null;
  readonly counts: { readonly turns: number; readonly calls: number; readonly failed: number };
};

/** Of the whole session; without model and usage where `isUsed` says that they stand next to it. */
export function sessionWords(session: Whole, written: Written, isUsed = false): readonly string[] {
  const { agent, model, first_ms, counts } = session;
  const failed = counts.failed === 0 ? '' : ` (${counts.failed} failed)`;
  const names = [agent, ...(isUsed ? [] : [model])];
  return [
    ...names.flatMap((word) => (word === null || word === '' ? [] : [word])),
    countedItems(counts.turns, 'turn'),
    `${countedItems(counts.calls, 'call')}${failed}`,
    ...(isUsed ? [] : usedWords(session, written)),
    ...firstWords(first_ms, agent, written),
  ];
}

/** Of one turn. */
export const turnWords = (turn: Turn, agent: string | null, written: Written): readonly string[] => [
  ...(turn.ms === null ? [] : [written.duration(turn.ms)]),
  ...usedWords(turn, written),
  ...firstWords(turn.first_ms, agent, written),
];

/** An agent program shows a message when it is whole. A time of almost nothing is that of a prepared answer. */
function firstWords(ms: number | null, agent: string | null, { duration }: Written): readonly string[] {
  const what = agent === 'codex' || agent === 'claude' ? 'message' : 'token';
  return ms === null || ms < 50 ? [] : [`first ${what} after ${duration(ms)}`];
}

/** The text in place of a session without items. */
export function noSessionWords(state: string, withheld: boolean): string {
  if (withheld) return 'The session is withheld until the run has ended: it may contain the holdout.';
  return state === 'running' ? 'Nothing from the agent so far.' : 'No agent has worked here.';
}

/** A call that ended without a result. */
export const unansweredCall = 'no result';
