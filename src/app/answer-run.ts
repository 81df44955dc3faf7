/** Answers the question that a run asks: checks the answer against the recorded question, and links its file. Takes no lock and needs
 *  nothing of the run. */
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Refusal, refused, shortText, shown } from '../core/diagnostic.ts';
import { openQuestions } from '../core/fork.ts';
import { optionsChosen, takesEmptyText } from '../core/human-gate.ts';
import { masker } from '../core/policy/mask.ts';
import { textsToMask } from '../core/policy/secrets.ts';
import type { Manifest } from '../core/records/manifest.ts';
import {
  type Answer,
  type AnswerSource,
  longestAnswer,
  type Question,
  questionHash,
  questionIdOf,
  type TakenAnswer,
} from '../core/records/question.ts';
import { linkAnswer, readAnswer } from '../run/answer-files.ts';
import { openRun } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { giverName, isInsideRun } from './given.ts';

export type AnswerRequest = {
  /** Id of the question, `NODE@VISIT`; by default the only open one. */
  readonly question?: string | undefined;
  /** Key, label or target of an option. */
  readonly choice?: string | undefined;
  readonly text?: string | undefined;
  /** By default the user of this process. */
  readonly by?: string | undefined;
  readonly from: Exclude<AnswerSource, 'timeout' | 'auto'>;
};

export type AnswerHost = { readonly clock: Pick<Clock, 'now'>; readonly env: Environment };

/** Answers an open question. Of several who answer, the first wins; every other one is refused. Nothing is written where the answer is
 *  refused. */
export async function answerRun(
  runDir: string,
  request: AnswerRequest,
  host: AnswerHost,
): Promise<{ readonly answer: Answer; readonly question: Question } | Refusal> {
  const recorded = await openRun(runDir).stored();
  if ('problems' in recorded) return recorded;
  const { manifest, history } = recorded;
  if (isInsideRun(runDir, manifest))
    return refused(
      'answer-inside',
      `this is a process of run ${manifest.run_id} itself: its nodes cannot answer its questions`,
      'answer from a terminal of your own, or on the page',
    );
  const question = openQuestion(manifest, history, request.question);
  if ('problems' in question) return question;
  const before = readAnswer(runDir, question.id);
  if (typeof before === 'object' && before.question_sha256 === questionHash(question))
    return answeredBefore(question, before);
  const at = host.clock.now();
  if (question.deadline !== null && Date.parse(question.deadline) <= at.getTime())
    return refused(
      'answer-late',
      `${question.id} could be answered until ${question.deadline}`,
      `resume the run: it continues with ${question.timeout_action === 'default' ? 'the default choice' : 'a failure of class timeout'}`,
    );
  const given = givenAnswer(question, request);
  if ('problems' in given) return given;
  const { text } = given;
  const mask = masker(textsToMask(host.env));
  const answer: Answer = {
    question: question.id,
    ...given,
    ...(text === undefined ? {} : { text: mask(text) }),
    by: mask(giverName(request.by)).slice(0, longestAnswer.by),
    at: at.toISOString(),
    from: request.from,
    question_sha256: questionHash(question),
  };
  const first = await linkAnswer(runDir, answer);
  if (first === 'unreadable')
    return refused(
      'answer-taken',
      `the file of the answer to ${question.id} is there, and is not an answer`,
      `remove it: ${runDir}/answers/${question.id}.json`,
      1,
    );
  return first === answer ? { answer, question } : answeredBefore(question, first);
}

function openQuestion(
  { run_id }: Manifest,
  { checkpoint, records }: RunHistory,
  asked: string | undefined,
): Question | Refusal {
  const open = openQuestions(checkpoint);
  const [question, ...more] = asked === undefined ? open : open.filter(({ id }) => id === asked);
  if (question !== undefined && more.length === 0) return question;
  if (question !== undefined)
    return refused(
      'answer-question',
      `run ${run_id} asks ${open.length} questions: ${questionList(open)}`,
      `name the one that is answered, for example ${question.id}`,
    );
  const last = records
    .flatMap((one) =>
      one.type === 'Visit' && one.answer !== undefined
        ? [{ id: questionIdOf(one.node, one.visit), answer: one.answer }]
        : [],
    )
    .findLast(({ id }) => asked === undefined || id === asked);
  if (asked !== undefined && last !== undefined) return answeredBefore(last, last.answer);
  const [first, ...others] = open;
  if (asked !== undefined && first !== undefined)
    return refused(
      'answer-question',
      `run ${run_id} does not ask ${asked}; its open ${others.length === 0 ? 'question is' : 'questions are'} ${questionList(open)}`,
      `answer ${others.length === 0 ? 'that one' : 'one of those'}: ${open.map(({ id }) => id).join(', ')}`,
    );
  const before =
    last === undefined ? '' : `; ${last.id} was answered by ${last.answer.by} at ${last.answer.at}`;
  return refused(
    'answer-question',
    `run ${run_id} asks no question${before}`,
    'see what it does: factory show RUN',
  );
}

const questionList = (open: readonly Question[]): string =>
  open.map(({ id, text }) => `${id}: ${shortText(text, shown.name)}`).join('; ');

/** What is to be recorded, or why the question does not take it. */
function givenAnswer(
  question: Question,
  { choice, text }: AnswerRequest,
): Pick<Answer, 'choice' | 'label' | 'text'> | Refusal {
  const { options, text_to, id } = question;
  const list = options.map(({ key, label, to }) => `${key}  ${label}${label === to ? '' : ` (${to})`}`);
  const named = list.length === 0 ? 'it takes a text' : `options: ${list.join('; ')}`;
  if ((choice === undefined) === (text === undefined))
    return refused('answer-option', `answer ${id} with one of: a choice, a text`, named);
  if (choice !== undefined) {
    const [option, another] = optionsChosen(options, choice);
    if (option !== undefined && another === undefined) return { choice: option.to, label: option.label };
    const why = option === undefined ? 'has no option' : 'has more than one option';
    return refused('answer-option', `${id} ${why} "${choice}"`, named);
  }
  if (text_to === null) return refused('answer-text', `${id} takes no text`, named);
  if (text === undefined || (text.trim() === '' && !takesEmptyText(question)))
    return refused('answer-text', `the answer to ${id} is empty`, named);
  if (text.length > longestAnswer.text)
    return refused(
      'answer-text',
      `the answer to ${id} has ${text.length} characters: the most is ${longestAnswer.text}`,
      'name a file with the rest',
    );
  return { text };
}

const answeredBefore = (
  { id }: Pick<Question, 'id'>,
  { by, at, label, choice, from }: Pick<TakenAnswer, 'by' | 'at' | 'label' | 'choice' | 'from'>,
): Refusal =>
  refused(
    'answer-taken',
    `${id} was answered already by ${by} at ${at}${choice === undefined ? '' : `: ${label ?? choice}`} (${from})`,
    undefined,
    1,
  );
