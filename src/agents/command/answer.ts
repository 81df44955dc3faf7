/** What a command answered, by its format. */
import { agentOutcomeOf, agentOutcomes } from '../../model/outcome.ts';
import { type Answer, parseAnswer } from '../program/answer.ts';
import type { CommandSettings } from './settings.ts';

export type CommandAnswer =
  | { readonly answer: Answer }
  | { readonly text: string }
  /** Reads after "the answer of the command". */
  | { readonly problem: string };

/** Reads an answer that is there. */
export function readCommandAnswer(text: string, format: CommandSettings['responseFormat']): CommandAnswer {
  switch (format) {
    case 'text':
      return { text };
    case 'json':
      return parseAnswer(text);
    case 'outcome':
      return outcomeIn(text);
    case 'auto':
      return saysOutcome(text) ? parseAnswer(text) : { text };
  }
}

/** True for a JSON object with an `outcome` and nothing around it. Prose that quotes one is prose. */
function saysOutcome(text: string): boolean {
  if (!text.trim().startsWith('{')) return false;
  try {
    const said: unknown = JSON.parse(text);
    return typeof said === 'object' && said !== null && Object.hasOwn(said, 'outcome');
  } catch {
    return false;
  }
}

/** An outcome's word on the first line that is not blank; what follows are notes, or the reason of a failure. */
function outcomeIn(text: string): CommandAnswer {
  const [first = '', ...rest] = text.trim().split('\n');
  const outcome = agentOutcomeOf(first.trim().toLowerCase());
  if (outcome === undefined) {
    const known = agentOutcomes.join(', ');
    return { problem: `has the first line ${JSON.stringify(first.slice(0, 80))}, which is none of ${known}` };
  }
  const said = rest.join('\n').trim();
  const bad = outcome === 'fail' || outcome === 'retry';
  return {
    answer: {
      outcome,
      label: '',
      suggested: [],
      notes: bad ? '' : said,
      reason: bad ? said : '',
      updates: {},
    },
  };
}
