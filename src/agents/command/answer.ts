/** What a command answered, by its format. */
import { agentOutcomes } from '../../model/outcome.ts';
import {
  type Answer,
  agentWord,
  bareOutcome,
  documentVerdict,
  parseAnswer,
  spokenIn,
  type Words,
} from '../program/answer.ts';
import { bareAnswer } from '../program/objects.ts';
import type { CommandSettings } from './settings.ts';

export type CommandAnswer =
  | { readonly answer: Answer }
  | { readonly text: string }
  /** Reads after "the answer of the command". */
  | { readonly problem: string };

/** What of the node decides how an answer without a fixed form is taken. `document`: it goes to a file or has another
 *  schema, so that an outcome within it is a part of the document. `tested`: edges test the node's outcome. */
export type Use = { readonly document: boolean; readonly tested: boolean; readonly words: Words };

/** Reads an answer that is there. */
export function readCommandAnswer(
  text: string,
  format: CommandSettings['responseFormat'],
  use: Use,
): CommandAnswer {
  switch (format) {
    case 'text':
      return { text };
    case 'json':
      return parseAnswer(text, use.words);
    case 'outcome':
      return outcomeIn(text, use.words);
    case 'auto':
      return use.document ? (documentVerdict(text, use.words) ?? { text }) : reported(text, use);
  }
}

/** An outcome where the text says one; other words are a success unless edges want to know. */
function reported(text: string, { tested, words }: Use): CommandAnswer {
  const spoken = spokenIn(text, words);
  if (!('none' in spoken)) return spoken;
  if (bareAnswer(text).trim() === '') return { text: '' };
  if (!tested) return { text };
  return {
    problem:
      'gives no outcome, and the edges of the node test it: response_format=json asks for one, response_format=text takes any ' +
      'answer as a success',
  };
}

/** An outcome's word, or a word of the pipeline's own, on the first line that is not blank; what follows are notes, or the reason of
 *  a failure. */
function outcomeIn(text: string, words: Words): CommandAnswer {
  const [first = '', ...rest] = bareAnswer(text).trim().split('\n');
  const word = agentWord(first, words);
  if (word === undefined) {
    const known = agentOutcomes.join(', ');
    return { problem: `has the first line ${JSON.stringify(first.slice(0, 80))}, which is none of ${known}` };
  }
  return { answer: bareOutcome(word.outcome, rest.join('\n'), word.label) };
}
