/** `factory plan prompt`: writes the planning prompt. */
import { resolve } from 'node:path';
import { countedItems } from '../../core/amounts.ts';
import { type StepVerdict, yes } from '../../core/contracts/step.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import { sha256 } from '../../core/sha256.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { filesInside } from '../../platform/files/inside.ts';
import { compileHash } from '../emit.ts';
import { clearPlan, filesOf, readContext, readUserText } from '../files.ts';
import { hasPlaceholder, planPromptText, readDoctrine, withDoctrine } from '../prompt.ts';
import { type PlanState, readPlanState, unbegun, writePlanState } from '../state.ts';
import { type Ruled, refusedAnswer, textOf } from './answers.ts';
import { isSpecClear, specAnswered } from './questions.ts';

export type PlanPromptOptions = Ruled & {
  readonly spec: string;
  readonly template: string;
  readonly repo?: string | undefined;
  readonly model?: string | undefined;
  readonly effort?: string | undefined;
  /** `true`: first a person is asked what the specification leaves open. */
  readonly ask?: string | undefined;
};

/** Renders the planning prompt into the workspace and begins a plan there; whatever was left of an earlier plan is
 *  cleared away. Nothing is written when a file or flag is wrong. */
export async function planPrompt(options: PlanPromptOptions, io: CommandIo): Promise<StepVerdict> {
  const spec = await readUserText(io, options.spec, 'spec');
  if ('problem' in spec) return refusedAnswer(spec.problem);
  const template = await readUserText(io, options.template, 'template');
  if ('problem' in template) return refusedAnswer(template.problem);
  if (!hasPlaceholder(template.text, 'PRODUCT_SPEC')) {
    const problem = `the template ${options.template} has no {{PRODUCT_SPEC}}: put it where the spec belongs`;
    return refusedAnswer(problem);
  }
  const doctrine = await readDoctrine(io, options.doctrine);
  if ('problem' in doctrine) return refusedAnswer(doctrine.problem);
  const repo = options.repo === undefined ? null : resolve(io.cwd, options.repo);
  const files = await filesOf(repo ?? io.cwd, io.env);
  if ('problem' in files) return refusedAnswer(files.problem);

  const before = readPlanState(io) ?? unbegun(io.now());
  if ('problem' in before) return refusedAnswer(before.problem);
  const source = { path: options.spec, sha256: sha256(spec.bytes) };
  if (options.ask === 'true' && !isSpecClear(before, source.sha256))
    return yes('the specification is asked about first', { label: 'ask' });
  const text = specAnswered(spec.text, before, source.sha256);

  const context = await readContext(io.env['FACTORY_CONTEXT']);
  const model = options.model || textOf(context['plan.model']);
  const effort = options.effort || textOf(context['plan.effort']);
  const state: PlanState = {
    ...unbegun(io.now()),
    ...(before.asked === undefined ? {} : { asked: before.asked }),
    spec: source,
    template: { path: options.template, sha256: sha256(template.bytes) },
    model,
    effort,
    compile_hash: compileHash({
      spec: Buffer.from(text),
      template: withDoctrine(template, doctrine.text),
      model,
      effort,
    }),
    repo,
  };
  const basis = { spec: text, files: files.list, doctrine: doctrine.text };
  const prompt = planPromptText(template.text, basis);
  const workspace = filesInside(io.cwd);
  clearPlan(io.cwd);
  await workspace.write(inWorkspace.planSpec, text);
  await workspace.write(inWorkspace.planOriginal, prompt);
  await workspace.write(inWorkspace.planPrompt, prompt);
  await writePlanState(io, state);

  const { compile_hash } = state;
  const count = files.list.length;
  const wrote = `wrote ${inWorkspace.planPrompt} (compile hash ${compile_hash}, ${countedItems(count, 'file')} in place)`;
  return yes('', {
    updates: { 'plan.attempt': 0, 'plan.compile_hash': compile_hash },
    shown: {
      out: `${wrote}\n`,
      json: { outcome: 'success', prompt: inWorkspace.planPrompt, compile_hash, files: count },
    },
  });
}
