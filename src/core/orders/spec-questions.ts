/** What a specification leaves open: questions of a model, each about a place in it, and the answers of a person. Pure. */
import * as z from 'zod';
import type { JsonObject } from '../json.ts';
import { once } from '../once.ts';

/** More would be answered without care. */
export const mostQuestions = 5;

const line = once(() =>
  z
    .string()
    .transform((text) => oneLine(text))
    .refine((text) => text !== '', 'is empty'),
);
const modelQuestionSchema = once(() =>
  z.object({
    quotation: z.string().describe('Words of the specification, letter by letter, that leave it open'),
    question: z.string().describe('What is open, as one question'),
    proposal: z.string().describe('What you would build if nothing else is said'),
  }),
);
const modelQuestionsSchema = once(() =>
  z.object({ questions: z.array(modelQuestionSchema()).describe('The most important first; none is fine') }),
);

/** The JSON schema of the answer. Registered as `spec-questions`. */
export const specQuestionsSchemaOf = (): JsonObject => {
  const { $schema: _, ...schema } = z.toJSONSchema(modelQuestionsSchema());
  // zod's output is plain JSON.
  return schema as JsonObject;
};

/** A question about a place in a specification. */
export const specQuestionSchema = once(() =>
  z.object({ quotation: line(), question: line(), proposal: line() }),
);
export type SpecQuestion = z.infer<ReturnType<typeof specQuestionSchema>>;

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** Marks of spec-kit for what its author left open. Brackets in one come in pairs, else the first one that closes ends it. Its
 *  template speaks of marks too, and authors leave that in: "Use [NEEDS CLARIFICATION: specific question]", "No
 *  [NEEDS CLARIFICATION] markers remain". */
const openMark = /\[NEEDS CLARIFICATION:(?!\s*specific question\s*\])((?:[^[\]]|\[[^[\]]*\])*|[^\]]*)\]/g;

/** The questions that count, at most five: those about a mark first, also where the model passed one over. Dropped are those whose
 *  quotation the specification does not have. */
export function questionsAbout(
  spec: string,
  answered: unknown,
): { readonly questions: readonly SpecQuestion[]; readonly dropped: number } | { readonly problem: string } {
  const read = modelQuestionsSchema().safeParse(answered);
  if (!read.success) return { problem: 'the answer is no list of questions' };
  const text = oneLine(spec);
  const checked = read.data.questions.map((one) => specQuestionSchema().safeParse(one).data);
  const quoted = checked.filter(
    (one): one is SpecQuestion => one !== undefined && text.includes(one.quotation),
  );
  const found = [...text.matchAll(openMark)];
  const unmarked = text.replaceAll(openMark, '\n');
  // A model may quote a mark, or words that only a mark has.
  const isAbout = ({ quotation }: SpecQuestion, mark: string): boolean =>
    quotation.includes(mark) || (mark.includes(quotation) && !unmarked.includes(quotation));
  const isMarked = (one: SpecQuestion): boolean => found.some(([mark]) => isAbout(one, mark));
  const marks = found.flatMap(([quotation, about = '']): SpecQuestion[] =>
    quoted.some((one) => isAbout(one, quotation))
      ? []
      : [{ quotation, question: about.trim() || 'How is it meant?', proposal: 'the simplest reading' }],
  );
  const ordered = [...quoted.filter(isMarked), ...marks, ...quoted.filter((one) => !isMarked(one))];
  const questions = ordered.slice(0, mostQuestions);
  return { questions, dropped: read.data.questions.length + marks.length - questions.length };
}

/** The questions as a person reads them. */
export const questionsText = (questions: readonly SpecQuestion[], problem?: string): string =>
  [
    ...(problem === undefined ? [] : [`${problem}`, '']),
    'The specification leaves open:',
    ...questions.flatMap(({ quotation, question, proposal }, at) => [
      '',
      `${at + 1}. ${question}`,
      `   in: "${quotation}"`,
      `   proposal: ${proposal}`,
    ]),
    '',
    'An empty answer takes all proposals. "2: other words" answers one of them; several: a line each, or "1: words; 2: words".',
  ].join('\n');

/** An answer to a question; `text` is undefined where the proposal was taken. */
export type SpecAnswer = { readonly text: string | undefined };

/** The number of a question at the beginning of a line; not that of `1.5 seconds` or `10:30`. */
const numberOfQuestion = /^\s*(\d+)\s*(?::(?!\d)|[.)](?=\s|$))\s*(.*)$/;

/** The answers in the words of a person, in the order of the questions. */
export function specAnswersIn(
  text: string,
  questions: readonly SpecQuestion[],
): { readonly answers: readonly SpecAnswer[] } | { readonly problem: string } {
  const given = new Map<number, string>();
  let current: number | undefined;
  // A terminal takes a single line.
  for (const one of text.replaceAll(/;\s*(?=\d+\s*:(?!\d))/g, '\n').split(/\r?\n/)) {
    if (one.trim() === '') continue;
    const [, number, words = ''] = numberOfQuestion.exec(one) ?? [];
    if (number !== undefined) {
      current = Number(number);
      if (current < 1 || current > questions.length)
        return { problem: `There is no question ${number}: they are numbered 1 to ${questions.length}.` };
      if (given.has(current)) return { problem: `Question ${number} is answered twice.` };
      given.set(current, words);
    } else if (current === undefined && questions.length === 1) {
      current = 1;
      given.set(1, one);
    } else if (current === undefined)
      return {
        problem: `"${oneLine(one).slice(0, 60)}" names no question: begin it with a number, as "1: …".`,
      };
    else given.set(current, `${given.get(current)} ${one}`);
  }
  const problem = unclearIn(given, questions.length);
  if (problem !== undefined) return { problem };
  return {
    answers: questions.map((_, at) => ({
      text: given.has(at + 1) ? oneLine(given.get(at + 1) ?? '') : undefined,
    })),
  };
}

/** What keeps answers from being taken: two that may have run into each other, or one without words. */
function unclearIn(given: ReadonlyMap<number, string>, count: number): string | undefined {
  const next = [...given.values()]
    .map((words) => Number(/\s(\d+):(?=\s)/.exec(words)?.[1]))
    .find((number) => number >= 1 && number <= count && !given.has(number));
  if (next !== undefined)
    return `If "${next}:" begins another answer, put a semicolon or a new line before it.`;
  const empty = [...given].find(([, words]) => oneLine(words) === '');
  return empty === undefined
    ? undefined
    : `Question ${empty[0]} has no words: leave it out to take the proposal.`;
}

/** Questions that a person has answered. */
export type AnsweredQuestions = {
  readonly questions: readonly SpecQuestion[];
  readonly answers: readonly SpecAnswer[];
  readonly by: string;
  /** RFC 3339, UTC. */
  readonly at: string;
};

/** The specification with the answers at its end. */
export function specWithAnswers(spec: string, { questions, answers, by, at }: AnsweredQuestions): string {
  const lines = questions.flatMap(({ quotation, question, proposal }, n) => {
    const text = answers[n]?.text;
    return [
      '',
      `${n + 1}. "${quotation}": ${question}`,
      text === undefined ? `   Answer: ${proposal} (as proposed)` : `   Answer: ${text}`,
    ];
  });
  const head = `## Answers to what the specification leaves open (${by}, ${at})`;
  return `${spec.trimEnd()}\n\n${[head, '', 'They count more than the words that they are about.', ...lines].join('\n')}\n`;
}
