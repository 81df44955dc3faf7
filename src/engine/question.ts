/** Asks a person: the question of a human gate as the run records it, and the answer that counts. */
import { autoAnswer } from '../core/auto-answer.ts';
import type { NodeContext } from '../core/contracts/node-kind.ts';
import { own } from '../core/json.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import {
  type Answer,
  type Question,
  type QuestionDraft,
  questionHash,
  questionIdOf,
  type TakenAnswer,
} from '../core/records/question.ts';
import { answerTo, linkAnswer, readAnswer, setAnswerAside, takenFrom } from '../run/answer-files.ts';
import type { AttemptSecrets } from './attempt-secrets.ts';
import { endOfArtifact, lastOutputs } from './feedback.ts';
import type { LayerContext } from './layers/layer.ts';

/** Thrown through an attempt whose question has no answer yet: the run is suspended. */
export class AnswerAwaited extends Error {
  readonly question: Question;
  constructor(question: Question) {
    super(`waits for an answer to ${question.id}`);
    this.question = question;
  }
}

/** Who is asked in one attempt. */
export type AskedPerson = Pick<NodeContext, 'ask'> & {
  /** The answer that this attempt got. */
  answered(): TakenAnswer | undefined;
};

export function askedPerson(
  context: LayerContext,
  { mask }: AttemptSecrets,
  keep: (name: string, text: string) => Promise<void>,
): AskedPerson {
  let given: TakenAnswer | undefined;
  return {
    async ask(draft) {
      const question = await questionOf(context, draft, mask);
      await keep('question.json', `${JSON.stringify(question, null, 2)}\n`);
      const answer = await answerOf(context, question);
      if (answer === undefined) throw new AnswerAwaited(question);
      const { text } = answer;
      given = { ...takenFrom(answer), ...(text === undefined ? {} : { text: mask(text) }) };
      return given;
    },
    answered: () => given,
  };
}

/** The recorded question where the same was asked before; else a new one. A changed timeout counts from when it was asked. */
async function questionOf(
  context: LayerContext,
  { mode, text, options, text_to, default: otherwise, timeout_action, timeoutMs }: QuestionDraft,
  mask: (text: string) => string,
): Promise<Question> {
  const { run, node, visit, state, clock } = context;
  const clean = async (text: string): Promise<string> => {
    const masked = mask(text);
    return (await run.leaks?.printable(masked)) ?? masked;
  };
  const asked = (since: string) => ({
    asked_at: since,
    deadline:
      timeoutMs === undefined
        ? null
        : new Date(Date.parse(since) + Math.min(timeoutMs, longestMs)).toISOString(),
  });
  // In the order of the schema: its readers get them so, and the checkpoint is compared as a text.
  const question: Question = {
    id: questionIdOf(node.id, visit),
    node: node.id,
    visit,
    mode,
    text: await clean(text),
    after: await resultBefore(context, clean),
    options,
    text_to,
    default: otherwise,
    timeout_action,
    ...asked(clock.now().toISOString()),
  };
  const before = state.question;
  if (before === undefined || questionHash(before) !== questionHash(question)) return question;
  const again = { ...question, ...asked(before.asked_at) };
  const isSame = again.deadline === before.deadline && again.timeout_action === before.timeout_action;
  return isSame ? before : again;
}

/** Dates end somewhere: a hundred years. */
const longestMs = 100 * 365 * 86_400_000;

/** The result of the latest tool, agent or verification: what the person decides on. */
async function resultBefore(
  { run, state }: LayerContext,
  clean: (text: string) => Promise<string>,
): Promise<Question['after']> {
  const node = state.last_executable;
  const outcome = node === undefined ? undefined : own(state.outcomes, node);
  if (node === undefined || outcome === undefined) return null;
  const dir = layout(run.runDir).node(node);
  const { stdout } = await lastOutputs(dir);
  const guard = { printable: clean };
  const end =
    (await endOfArtifact(nodeLayout(dir).response, guard)) ?? (await endOfArtifact(stdout, guard)) ?? '';
  const output = end.trim();
  const notes = await clean(outcome.notes === '' ? outcome.reason : outcome.notes);
  return { node, outcome: outcome.status, notes, ...(output === '' ? {} : { output }) };
}

/** The answer that counts: that of the record in a replay; else the first that was linked, which may be that of the engine itself. */
async function answerOf(context: LayerContext, question: Question): Promise<Answer | undefined> {
  const { run } = context;
  const { runDir } = run;
  const recorded = await run.replay?.answerTo(question);
  if (recorded !== undefined) return claimed(context, { question: question.id, ...recorded });
  const there = readAnswer(runDir, question.id);
  if (there === 'unreadable')
    run.log('warn', 'the file of the answer is not an answer: remove it', { question: question.id });
  if (typeof there === 'object') {
    if (answerTo(runDir, question) !== undefined) return there;
    run.log('warn', 'the answer is to another text of the question, which is asked again', {
      question: question.id,
      by: there.by,
    });
    setAnswerAside(runDir, there);
  }
  const by = ownAnswer(context, question);
  return by === undefined ? undefined : claimed(context, by);
}

/** The answer that the engine gives itself: as --auto-answer says, or for the deadline that has passed. */
function ownAnswer({ run, clock }: LayerContext, question: Question): Answer | undefined {
  const { id, deadline, asked_at, timeout_action, default: otherwise } = question;
  const about = { question: id, question_sha256: questionHash(question) };
  const auto = run.autoAnswers === undefined ? undefined : autoAnswer(run.autoAnswers, question);
  if (auto !== undefined && 'why' in auto) run.log('warn', auto.why, { question: id });
  else if (auto !== undefined)
    return { ...about, ...auto, by: 'auto', at: clock.now().toISOString(), from: 'auto' };
  if (deadline === null || Date.parse(deadline) > clock.now().getTime()) return undefined;
  // A clock that was set back must not date an answer before its question.
  const at = Date.parse(deadline) < Date.parse(asked_at) ? asked_at : deadline;
  const option = question.options.find(({ to }) => to === otherwise);
  const chosen =
    timeout_action === 'fail' || otherwise === null
      ? {}
      : { choice: otherwise, ...(option === undefined ? {} : { label: option.label }) };
  return { ...about, ...chosen, by: 'timeout', at, from: 'timeout' };
}

/** Links the answer; if a person was first, that answer counts. */
async function claimed({ run }: LayerContext, answer: Answer): Promise<Answer | undefined> {
  const first = await linkAnswer(run.runDir, answer);
  return first === 'unreadable' ? undefined : first;
}
