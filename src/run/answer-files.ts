/** The files of answers to the questions of a run: each is linked once, by the first who answers, and taken by the journal's line of
 *  the execution. */
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { jsonIn } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import {
  type Answer,
  answerRecordSchema,
  type Question,
  questionHash,
  type TakenAnswer,
} from '../core/records/question.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { linkOnce } from '../platform/files/link.ts';
import { readPlain } from '../platform/files/read.ts';

export const answerFile = (runDir: string, question: string): string =>
  join(layout(runDir).answers, `${question}.json`);

/** The answer in a file; undefined where there is none, `unreadable` where something else is there. */
export function readAnswer(runDir: string, question: string): Answer | undefined | 'unreadable' {
  const is = readPlain(answerFile(runDir, question), mostOfAnswer);
  if (is.kind === 'missing') return undefined;
  const read = is.kind === 'text' ? answerRecordSchema().safeParse(jsonIn(is.text)) : undefined;
  return read?.success === true && read.data.question === question ? read.data : 'unreadable';
}

/** Bytes. */
const mostOfAnswer = 1024 * 1024;

/** The answer to exactly this question that no line has taken yet. */
export function answerTo(runDir: string, question: Question): Answer | undefined {
  const answer = readAnswer(runDir, question.id);
  return typeof answer === 'object' && answer.question_sha256 === questionHash(question) ? answer : undefined;
}

/** Links the file of the answer. Returns the answer that is there: this one, or an earlier one. */
export async function linkAnswer(runDir: string, answer: Answer): Promise<Answer | 'unreadable'> {
  if (await linkOnce(answerFile(runDir, answer.question), answerText(answer))) return answer;
  return readAnswer(runDir, answer.question) ?? 'unreadable';
}

export const answerText = (answer: Answer): string => `${JSON.stringify(answer, null, 2)}\n`;

/** The answer as its journal's line has it. */
export const takenFrom = ({ question: _, ...answer }: Answer): TakenAnswer => answer;

/** Moves the answer to an earlier text of the question aside, so that this one can be answered. Of several to one text that no
 *  execution has used the last is kept: one that stayed in the way would end all answering. */
export function setAnswerAside(runDir: string, { question, question_sha256 }: Answer): void {
  const from = answerFile(runDir, question);
  const to = join(layout(runDir).answers, `${question}.${question_sha256.slice(0, 12)}.json`);
  beforeWrite(from);
  renameSync(from, to);
}
