/** A question that a run asks a person at a human gate, and its answer. */
import * as z from 'zod';
import { canonicalHash } from '../json.ts';
import { once } from '../once.ts';
import { failureClasses } from '../outcome.ts';
import { executionForm, nodeId } from './names.ts';

export const questionModes = ['choice', 'yes_no', 'freeform'] as const;
export type QuestionMode = (typeof questionModes)[number];

/** Id of a question, and name of its answer's file: `NODE@VISIT`. */
const questionId = once(() => z.string().regex(executionForm, 'is not NODE@VISIT'));

/** The id of the question that an execution asks. */
export const questionIdOf = (node: string, visit: number): string => `${node}@${visit}`;

export const questionSchema = once(() =>
  z.object({
    id: questionId().describe('NODE@VISIT'),
    node: nodeId(),
    visit: z.int().positive(),
    mode: z.enum(questionModes),
    text: z.string().describe('Secrets masked, without lines of the holdout'),
    after: z
      .object({
        node: nodeId(),
        outcome: z.string(),
        notes: z.string(),
        output: z.string().exactOptional().describe('The end of what it printed or answered'),
      })
      .nullable()
      .describe('The result of the execution before; null at the start of the run'),
    options: z
      .array(
        z.object({
          key: z.string().describe('Compared without case'),
          label: z.string(),
          to: nodeId().describe('The node to which it leads'),
        }),
      )
      .describe('In the order of the edges in the text'),
    text_to: nodeId().nullable().describe('Where a text leads; null: no text is taken'),
    default: nodeId().nullable().describe('Target of the default choice'),
    timeout_action: z.enum(['default', 'fail']),
    asked_at: z.string(),
    deadline: z.string().nullable().describe('RFC 3339; null: it waits without limit'),
  }),
);
export type Question = z.infer<ReturnType<typeof questionSchema>>;

/** What a gate asks; the engine adds where and when. */
export type QuestionDraft = Omit<Question, 'id' | 'node' | 'visit' | 'after' | 'asked_at' | 'deadline'> & {
  /** Milliseconds that it waits for an answer; undefined: without limit. */
  readonly timeoutMs: number | undefined;
};

/** Characters of an answer in words, and of the name of the person who gave it. */
export const longestAnswer = { text: 64 * 1024, by: 200 } as const;

/** Who answered: a person from one of these places, or the engine (`timeout`, `auto`). */
export const answerSources = ['terminal', 'command', 'page', 'api', 'library', 'timeout', 'auto'] as const;
export type AnswerSource = (typeof answerSources)[number];

const answerFields = once(() => ({
  choice: nodeId().exactOptional().describe('Target of the chosen option'),
  label: z.string().exactOptional().describe('Of the chosen option: several may have the same target'),
  text: z.string().exactOptional(),
  by: z.string(),
  at: z.string(),
  from: z.enum(answerSources),
  question_sha256: z.string().describe('What was asked, without its times and outputs'),
}));

/** The file of an answer. */
export const answerRecordSchema = once(() => z.object({ question: questionId(), ...answerFields() }));
export type Answer = z.infer<ReturnType<typeof answerRecordSchema>>;

/** The answer in the journal's line of the execution, which names the question. */
export const takenAnswerSchema = once(() => z.object(answerFields()));
export type TakenAnswer = z.infer<ReturnType<typeof takenAnswerSchema>>;

/** SHA-256 of everything that a person decides on: not of times, and not of what a replay may print otherwise. */
export function questionHash(question: Question): string {
  const { id, mode, text, options, text_to, default: otherwise, after } = question;
  return canonicalHash({
    ...{ id, mode, text, options, text_to, default: otherwise },
    after: after && { node: after.node, outcome: after.outcome },
  });
}

/** A failure that led to a gate, and the answer after which the run continued. */
export const overriddenSchema = once(() =>
  z.object({
    node: nodeId(),
    visit: z.int().positive(),
    class: z.enum(failureClasses),
    reason: z.string(),
    answered: z.object({
      question: questionId(),
      answer: z.string().describe('The label of the option, or the text; empty where none came in time'),
      by: z.string(),
      at: z.string(),
      from: z.enum(answerSources),
    }),
  }),
);
export type OverriddenFailure = z.infer<ReturnType<typeof overriddenSchema>>;

/** The same, also of a failure that has led to no gate yet. */
export const openFailureSchema = once(() =>
  overriddenSchema().extend({ answered: overriddenSchema().shape.answered.exactOptional() }),
);
export type OpenFailure = z.infer<ReturnType<typeof openFailureSchema>>;
