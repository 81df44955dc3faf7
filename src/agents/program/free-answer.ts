/** The answers of programs that answer in any form: by a schema that only the prompt names, by a first line, in prose. */
import {
  type AgentAnswer,
  agentWord,
  bareOutcome,
  contradictionIn,
  documentVerdict,
  parseAnswer,
  spokenIn,
  wordsFor,
} from '../../core/agent-answer.ts';
import { bareAnswer } from '../../core/answer-json.ts';
import { proseSuccess } from '../../core/auto-status.ts';
import type { AgentReport, AgentTask } from '../../core/contracts/agent.ts';
import { agentOutcomes } from '../../core/outcome.ts';
import { namedLiterals, type OutcomeWords } from '../../core/own-words.ts';
import { answerRequest, answerSchema } from './answer.ts';
import type { ProgramEnd } from './run.ts';

/** `auto`: an answer that gives an outcome is that, anything else is text. */
export type ResponseFormat = 'auto' | 'json' | 'text' | 'outcome';

/** The prompt with the request for an answer that fits the schema. */
export const promptAsking = (prompt: string): string =>
  `${prompt}\n\n${answerRequest}\nThe schema: ${JSON.stringify(answerSchema)}\n`;

/** The report for what a program answered. `answer` is its answer, and `nothing` an empty one, in messages. */
export function answerReport(
  task: AgentTask,
  text: string,
  format: ResponseFormat,
  words: { readonly fail: ProgramEnd['fail']; readonly answer: string; readonly nothing: string },
): AgentReport {
  const answer = readFreeAnswer(text, format, {
    document: task.schema !== undefined || task.settings.response_file !== undefined,
    tested: task.tested === true,
    words: wordsFor(task),
  });
  if ('problem' in answer)
    return (
      proseSuccess(task, text) ?? {
        ...words.fail('agent', `${words.answer} ${answer.problem}`),
        response: text,
      }
    );
  if (!('text' in answer)) return { kind: 'finished', ...answer.answer, response: text };
  return answer.text.trim() === ''
    ? words.fail('agent', words.nothing)
    : { kind: 'answered', text: answer.text };
}

/** What a program answered, by its format. */
type FreeAnswer =
  | { readonly answer: AgentAnswer }
  | { readonly text: string }
  /** Reads after "the answer of …". */
  | { readonly problem: string };

/** What of the node decides how an answer without a fixed form is taken. `document`: it goes to a file or has another
 *  schema, so that an outcome within it is a part of the document. `tested`: edges test the node's outcome. */
type Use = { readonly document: boolean; readonly tested: boolean; readonly words: OutcomeWords };

/** Reads an answer that is there. */
function readFreeAnswer(text: string, format: ResponseFormat, use: Use): FreeAnswer {
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
function reported(text: string, { tested, words }: Use): FreeAnswer {
  const spoken = spokenIn(text, words, tested);
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
function outcomeIn(text: string, words: OutcomeWords): FreeAnswer {
  const [first = '', ...rest] = bareAnswer(text).trim().split('\n');
  const word = agentWord(first, words);
  if (word === undefined) {
    const known = [...agentOutcomes, ...namedLiterals(words)].join(', ');
    return { problem: `has the first line ${JSON.stringify(first.slice(0, 80))}, which is none of ${known}` };
  }
  const answer = bareOutcome(word.outcome, rest.join('\n'), word.label);
  return contradictionIn(answer, rest.join('\n'), words) ?? { answer };
}
