/** A question of a run, and its answer, for people. Fields are only ever added. */
import * as z from 'zod';
import { once } from '../../core/once.ts';
import { answerSources, questionSchema } from '../../core/records/question.ts';
import { time } from './shape-parts.ts';

/** Who answered a question, and what. */
export const givenAnswerSchema = once(() =>
  z.object({
    words: z.string().describe('The label of the option, or the text'),
    choice: z.string().nullable().describe('The node to which the chosen option leads'),
    text: z.string().nullable(),
    by: z.string(),
    at: time(),
    from: z.enum(answerSources),
  }),
);
export type GivenAnswer = z.infer<ReturnType<typeof givenAnswerSchema>>;

/** What a run asks a person. */
export const openQuestionSchema = once(() =>
  questionSchema()
    .pick({ id: true, mode: true, text: true, after: true, text_to: true, timeout_action: true })
    .extend({
      options: z.array(
        questionSchema().shape.options.element.extend({
          command: z.string().describe('The command that chooses it'),
        }),
      ),
      text_command: z
        .string()
        .nullable()
        .describe('The command that answers with a text; null: none is taken'),
      default: z.string().nullable().describe('Label of the default choice'),
      asked_at: time(),
      deadline: time().nullable().describe('RFC 3339, UTC; null: it waits without limit'),
      answer: givenAnswerSchema().nullable().describe('Given already; the run takes it when it is resumed'),
    }),
);
export type OpenQuestion = z.infer<ReturnType<typeof openQuestionSchema>>;
