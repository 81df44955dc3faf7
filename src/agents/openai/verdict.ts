/** What a model's last word makes of its work. Pure. */
import { reservedKeyIn } from '../../policy/reserved.ts';
import type { AgentReport } from '../agent.ts';
import { parseAnswer } from '../program/answer.ts';
import { asJson } from './transcript.ts';
import { nothingSaid } from './words.ts';

export type LastWord =
  | { readonly report: AgentReport }
  /** It is none: why, and what the model is to be told. */
  | { readonly report?: never; readonly why: string; readonly tell: string };

/** An answer without calls: the end, if there is something in it. `finish` says whether the model may call that. */
export function lastWord(text: string, finish: boolean): LastWord {
  if (text.trim() === '') return { why: 'it stopped without a word', tell: nothingSaid(finish) };
  if (!finish) return { report: { kind: 'answered', text } };
  const read = finished(text, false);
  if ('report' in read) return read;
  // Prose is an answer as well; one that tries to be the other kind should be that.
  const tries = /^\s*(?:```\w*\s*)?\{/.test(text) && /"outcome"\s*:/.test(text);
  return tries
    ? { why: read.problem, tell: `${read.problem}. Call finish instead.` }
    : { report: { kind: 'answered', text } };
}

/** The model's own say on how it went. `inVain` when another call of the same turn failed, of which the model had not
 *  heard when it said so. */
export function finished(
  text: string,
  inVain: boolean,
): { readonly report: AgentReport } | { readonly problem: string } {
  const read = parseAnswer(text);
  if ('problem' in read) return { problem: `the answer ${read.problem}` };
  const { answer } = read;
  const reserved = reservedKeyIn(answer.updates);
  if (reserved !== undefined)
    return { problem: `context_updates may not set "${reserved}", a key of the engine's own` };
  const bad = answer.outcome === 'fail' || answer.outcome === 'retry';
  if (inVain && !bad)
    return { problem: 'other calls of this turn failed: look at their results, then call finish alone' };
  return {
    report: {
      kind: 'finished',
      ...answer,
      response: shown(text),
    },
  };
}

/** JSON laid out for people; what stands in a fence as it is. */
function shown(text: string): string {
  const value = asJson(text);
  return `${typeof value === 'string' ? text.trim() : JSON.stringify(value, null, 2)}\n`;
}
