/** `factory plan ask`, `select` and `answers`: what a specification leaves open is asked before it is planned. */

import { countedItems } from '../../core/amounts.ts';
import { extractJson } from '../../core/answer-json.ts';
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import {
  questionsAbout,
  questionsText,
  specAnswersIn,
  specWithAnswers,
} from '../../core/orders/spec-questions.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import { sha256 } from '../../core/sha256.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { filesInside } from '../../platform/files/inside.ts';
import { readContext, readUserText } from '../files.ts';
import { bundled, fill, hasPlaceholder } from '../prompt.ts';
import { type PlanState, readPlanState, unbegun, writePlanState } from '../state.ts';
import { refusedAnswer, textOf } from './answers.ts';

/** The question that the gate shows. */
const questionsKey = 'plan.questions';

/** Writes the prompt that asks a model what the specification leaves open. */
export async function planAsk(
  options: { readonly spec: string; readonly template?: string | undefined },
  io: CommandIo,
): Promise<StepVerdict> {
  const spec = await readUserText(io, options.spec, 'spec');
  if ('problem' in spec) return refusedAnswer(spec.problem);
  const { template: path = bundled('questions.md') } = options;
  const template = await readUserText(io, path, 'template');
  if ('problem' in template) return refusedAnswer(template.problem);
  if (!hasPlaceholder(template.text, 'PRODUCT_SPEC'))
    return refusedAnswer(`the template ${path} has no {{PRODUCT_SPEC}}: put it where the spec belongs`);
  const workspace = filesInside(io.cwd);
  workspace.remove(inWorkspace.planQuestions);
  await workspace.write(inWorkspace.planSpec, spec.text);
  await workspace.write(inWorkspace.questionsPrompt, fill(template.text, { PRODUCT_SPEC: spec.text }));
  return yes(`wrote ${inWorkspace.questionsPrompt}`);
}

/** Chooses the questions that count of the model's answer. The label is `ask`, or `none` where nothing is to be asked. */
export async function planSelect(options: { readonly spec: string }, io: CommandIo): Promise<StepVerdict> {
  const spec = await readUserText(io, options.spec, 'spec');
  if ('problem' in spec) return refusedAnswer(spec.problem);
  const state = readPlanState(io) ?? unbegun(io.now());
  if ('problem' in state) return refusedAnswer(state.problem);
  const answer = filesInside(io.cwd).read(inWorkspace.planQuestions);
  const read = answer.kind === 'text' ? extractJson(answer.text) : { problem: 'there is no answer' };
  const selected = 'value' in read ? questionsAbout(spec.text, read.value) : read;
  if ('problem' in selected)
    return no('agent', `${inWorkspace.planQuestions}: ${selected.problem}`, { label: 'unusable' });
  const { questions, dropped } = selected;
  const asked = { spec_sha256: sha256(spec.bytes), questions: [...questions] };
  await writePlanState(io, { ...state, asked });
  const notes = `${countedItems(questions.length, 'question')}${dropped === 0 ? '' : `, ${dropped} dropped`}`;
  if (questions.length === 0) return yes(notes, { label: 'none' });
  return yes(notes, { label: 'ask', updates: { [questionsKey]: questionsText(questions) } });
}

/** Keeps the answers of the person at the gate; the label is `answered`, or `again` where they cannot be read. */
export async function planAnswers(_: unknown, io: CommandIo): Promise<StepVerdict> {
  const state = readPlanState(io);
  if (state === undefined || 'problem' in state || state.asked === undefined)
    return refusedAnswer('nothing was asked: begin with factory plan ask');
  const { asked } = state;
  const context = await readContext(io.env['FACTORY_CONTEXT']);
  const read = specAnswersIn(textOf(context['human.gate.text']), asked.questions);
  if ('problem' in read)
    return yes(read.problem, {
      label: 'again',
      updates: { [questionsKey]: questionsText(asked.questions, read.problem) },
    });
  const answered = {
    answers: read.answers.map(({ text }) => text ?? null),
    by: textOf(context['human.gate.by']) || 'unknown',
    at: textOf(context['human.gate.at']) || io.now().toISOString(),
  };
  const kept = { ...state, asked: { ...asked, answered } };
  await writePlanState(io, kept);
  const workspace = filesInside(io.cwd);
  const spec = workspace.read(inWorkspace.planSpec);
  // For the reader of a run that only asks: a plan writes its own.
  if (spec.kind === 'text')
    await workspace.write(inWorkspace.planSpec, specAnswered(spec.text, kept, asked.spec_sha256));
  const proposals = read.answers.filter(({ text }) => text === undefined).length;
  return yes(`answered by ${answered.by}: ${countedItems(proposals, 'proposal')} accepted`, {
    label: 'answered',
  });
}

/** Whether all questions about this specification are answered, or there were none; those about another one do not count. */
export const isSpecClear = ({ asked }: PlanState, specSha256: string): boolean =>
  asked?.spec_sha256 === specSha256 && (asked.questions.length === 0 || asked.answered !== undefined);

/** The specification with the answers that a person gave to the questions about it. */
export function specAnswered(spec: string, state: PlanState, specSha256: string): string {
  const { asked } = state;
  if (asked?.answered === undefined || !isSpecClear(state, specSha256)) return spec;
  const { answers, by, at } = asked.answered;
  return specWithAnswers(spec, {
    ...{ questions: asked.questions, by, at },
    answers: answers.map((text) => ({ text: text ?? undefined })),
  });
}
