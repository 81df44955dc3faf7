/** `factory plan check`: checks the model's answer. */
import { countedItems } from '../../core/amounts.ts';
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { filesInside } from '../../platform/files/inside.ts';
import type { Plain } from '../../platform/files/read.ts';
import { type Checked, checkPlan, unreadablePlan } from '../compile.ts';
import { fileText } from '../emit.ts';
import { filesOf, readPlanAnswer } from '../files.ts';
import { isError, type PlanFinding } from '../findings.ts';
import { readDoctrine, readRevisionTemplate, revisionPrompt } from '../prompt.ts';
import { readPlanState, unbegun, writePlanState } from '../state.ts';
import { drawFinding, errorsReason, type Ruled, refusedAnswer, textOrFlagsWrong } from './answers.ts';

export type PlanCheckOptions = Ruled & {
  readonly attempts?: number | string | undefined;
  readonly template?: string | undefined;
  readonly rules?: 'strict' | 'lenient' | undefined;
};

const defaultAttempts = 5;

/** Checks the model's answer against the workspace. A valid plan is written to `plan.json`; while attempts remain, the prompt
 *  becomes the one that asks for a revision. Nothing is written when a file or flag is wrong. */
export async function planCheck(options: PlanCheckOptions, io: CommandIo): Promise<StepVerdict> {
  const attempts = Number(options.attempts ?? defaultAttempts);
  if (!Number.isSafeInteger(attempts) || attempts < 1) {
    return refusedAnswer(
      `--attempts is ${JSON.stringify(options.attempts)}: give a whole number of at least 1`,
    );
  }
  const template = await readRevisionTemplate(io, options.template);
  if ('problem' in template) return refusedAnswer(template.problem);
  const doctrine = await readDoctrine(io, options.doctrine);
  if ('problem' in doctrine) return refusedAnswer(doctrine.problem);
  const state = readPlanState(io) ?? unbegun(io.now());
  if ('problem' in state) return refusedAnswer(`${state.problem}; begin again with factory plan prompt`);
  const found = readPlanAnswer(io.cwd);
  if (found === undefined) {
    return refusedAnswer(
      `there is no answer to check: put the model's answer into ${inWorkspace.planAnswer}`,
    );
  }
  const files = await filesOf(state.repo ?? io.cwd, io.env);
  if ('problem' in files) return refusedAnswer(files.problem);

  const answer = found.text;
  const { plan, findings, notes, parseError } = found.isUtf8
    ? checkPlan(answer, {
        repoFiles: files.list,
        strict: options.rules === 'strict',
      })
    : unreadablePlan('the answer is not UTF-8 text');
  const attempt = state.attempt + 1;
  const label = plan !== undefined ? 'valid' : attempt < attempts ? 'revise' : 'give_up';

  const workspace = filesInside(io.cwd);
  const folder = `${inWorkspace.plan}/attempt-${attempt}`;
  await workspace.write(`${folder}/answer.json`, answer);
  await workspace.write(`${folder}/findings.json`, `${JSON.stringify(findings, null, 2)}\n`);
  if (plan !== undefined)
    await workspace.write(inWorkspace.planChecked, fileText(plan), { evenFolder: true });
  else workspace.remove(inWorkspace.planChecked);
  if (label === 'revise') {
    const prompt = revisionPrompt(template.text, {
      basis: {
        spec: textIn(workspace.read(inWorkspace.planSpec)) ?? '(it was not kept)',
        files: files.list,
        doctrine: doctrine.text,
      },
      originalPrompt: textIn(workspace.read(inWorkspace.planOriginal)) ?? '',
      previousAnswer: answer,
      findings,
      earlier: state.attempts.map((attempt) => attempt.findings),
    });
    await workspace.write(inWorkspace.planPrompt, prompt);
  }
  const record = {
    attempt,
    checked_at: io.now().toISOString(),
    parse_error: parseError,
    findings: [...findings],
  };
  await writePlanState(io, { ...state, attempt, attempts: [...state.attempts, record] });

  return checked({ label, attempt, attempts, parseError, plan, findings, notes });
}

const textIn = (file: Plain): string | undefined => (file.kind === 'text' ? file.text : undefined);

/** What the check answers, and prints. */
function checked(result: {
  readonly label: 'valid' | 'revise' | 'give_up';
  readonly attempt: number;
  readonly attempts: number;
  readonly parseError: boolean;
  readonly plan: Checked['plan'];
  readonly findings: readonly PlanFinding[];
  readonly notes: readonly PlanFinding[];
}): StepVerdict {
  const { label, attempt, attempts, parseError, plan, findings, notes } = result;
  const errors = findings.filter(isError);
  const reason = plan !== undefined ? '' : parseError ? unparseableReason(errors) : errorsReason(errors);
  const orders = plan?.work_orders.length;
  const summary = orders === undefined ? reason : `valid, ${countedItems(orders, 'work order')}`;
  const shown = {
    out: [
      ...findings.map((finding) => drawFinding(finding)),
      ...notes.map((note) => drawFinding(note, 'note')),
      `attempt ${attempt} of ${attempts}: ${summary}\n`,
      ...(label === 'revise' ? [`wrote ${inWorkspace.planPrompt}, which asks for a revision\n`] : []),
      ...(label === 'valid' ? [`wrote ${inWorkspace.planChecked}\n`] : []),
    ].join(''),
    json: {
      ...{
        outcome: plan !== undefined ? 'success' : 'fail',
        label,
        attempt,
        attempts,
        parse_error: parseError,
      },
      ...{ reason, orders: orders ?? null, findings: [...findings], notes: [...notes] },
    },
  };
  const updates = { 'plan.attempt': attempt, 'plan.errors': errors.length };
  if (orders !== undefined)
    return yes(`a valid plan of ${countedItems(orders, 'work order')}`, {
      ...{ label, shown, updates: { ...updates, 'plan.orders': orders } },
    });
  const code = parseError ? unparseable : textOrFlagsWrong;
  return no(parseError ? 'agent' : 'product', reason, { label, shown, updates, code });
}

/** Exit code for an answer that is no JSON. */
const unparseable = 4;

const unparseableReason = (errors: readonly PlanFinding[]): string =>
  `the answer is not a plan: ${errors.map((e) => e.message.replace(/^JSON parse error: /, '')).join('; ')}`;
