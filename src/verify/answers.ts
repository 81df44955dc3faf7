/** Checks the answers of people: each file against its journal's line, and the line against the question. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../core/json.ts';
import { jsonIn } from '../core/json.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import {
  type Question,
  questionHash,
  questionIdOf,
  questionSchema,
  type TakenAnswer,
} from '../core/records/question.ts';
import type { RunRecord, VisitRecord } from '../core/records/visit.ts';
import { namesIn, readPlain } from '../platform/files/read.ts';
import { answerFile, readAnswer, takenFrom } from '../run/answer-files.ts';
import { type Findings, shortJson } from './report.ts';

/** An answer that no line has yet is no fault: the next resume uses it. */
export function checkAnswers(runDir: string, records: readonly RunRecord[], found: Findings): void {
  const expected = new Map<string, VisitRecord>();
  for (const record of records)
    if (record.type === 'Visit' && record.answer !== undefined)
      expected.set(questionIdOf(record.node, record.visit), record);
  for (const [id, record] of expected) checkAnswer(runDir, id, record, found);
  for (const name of asksIn(runDir, records) ? namesIn(layout(runDir).answers) : []) {
    if (/^\..*\.tmp$/.test(name)) continue;
    // `NODE@VISIT.json` of a question (in a called pipeline `CALL.NODE@VISIT.json`), or with a hash an answer to an earlier text of it; the token of a notice is a dotfile.
    const [, id = ''] = /^([\w.]+@\d+)(?:\.[0-9a-f]{12})?\.json$/.exec(name) ?? [];
    if (expected.has(id) || name.startsWith('.')) continue;
    if (id === '' || readAnswer(runDir, id) === 'unreadable')
      found.add('added', `answers/${name}`, 'it is not the answer to a question');
    else found.cannot(`answers/${name}: no execution has used it yet`);
  }
}

/** A run without human gates may have a node with the name of the folder. */
const asksIn = (runDir: string, records: readonly RunRecord[]): boolean =>
  !records.some((record) => record.type === 'Visit' && record.node === basename(layout(runDir).answers));

function checkAnswer(runDir: string, id: string, record: VisitRecord, found: Findings): void {
  const where = `answers/${basename(answerFile(runDir, id))}`;
  const is = readAnswer(runDir, id);
  found.count('files');
  if (is === undefined) found.add('missing', where, `the execution ${id} has used this answer`);
  else if (is === 'unreadable') found.add('unreadable', where, 'it is not an answer');
  else if (!isSameAnswer(takenFrom(is), record.answer))
    found.add('changed', where, `it is not the answer that ${id} has used`, {
      should: shortJson(record.answer as Json),
      is: shortJson(takenFrom(is) as Json),
    });
  const question = questionOf(runDir, record);
  if (question === undefined || record.answer === undefined) return;
  const { choice, question_sha256: should } = record.answer;
  const hash = questionHash(question);
  if (hash !== should)
    found.add('contradiction', where, 'it answers another question than the execution asked', {
      should,
      is: hash,
    });
  const targets = [...question.options.map(({ to }) => to), question.text_to];
  if (choice !== undefined && !targets.includes(choice))
    found.add('contradiction', where, 'its choice is none of the options', {
      should: targets.filter((to) => to !== null).join(', '),
      is: choice,
    });
}

/** The run may know more secrets than the process that answered: a masked text is compared no further. */
const isSameAnswer = ({ text, ...is }: TakenAnswer, line: TakenAnswer | undefined): boolean => {
  const { text: recorded, ...should } = line ?? { text: undefined };
  return isDeepStrictEqual(is, should) && (text === recorded || recorded?.includes('***') === true);
};

/** The question as the execution has kept it; its hash is checked with the other artifacts. */
function questionOf(runDir: string, { node, visit, artifacts }: VisitRecord): Question | undefined {
  if (artifacts?.['question.json'] === undefined) return undefined;
  const dir = layout(runDir).node(node);
  const archive = join(nodeLayout(dir).visits, String(visit));
  const path = join(existsSync(archive) ? archive : dir, 'question.json');
  const read = readPlain(path);
  return read.kind === 'text' ? questionSchema().safeParse(jsonIn(read.text)).data : undefined;
}
