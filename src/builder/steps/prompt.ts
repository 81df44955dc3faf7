/** `factory order prompt`: begins an attempt at the current order. */
import { join, resolve } from 'node:path';
import { no, type StepVerdict, yes } from '../../core/contracts/step.ts';
import { stageFailure } from '../../core/orders/failure-stage.ts';
import type { CurrentOrder } from '../../core/records/build.ts';
import { inWorkspace } from '../../core/records/layout.ts';
import type { CommandIo } from '../../platform/command-io.ts';
import { assertStaysInNode, filesInside } from '../../platform/files/inside.ts';
import { readPlain } from '../../platform/files/read.ts';
import { packageRoot } from '../../platform/package.ts';
import { preflightProblem, writeBuildState } from '../build-state.ts';
import { commandsBefore, keptCommands } from '../kept-checks.ts';
import { renderPrompt } from '../prompt.ts';
import { probeOf } from '../step-context.ts';
import { foretold } from '../verify.ts';
import { onCurrentOrder, type StepOptions } from './in-run.ts';
import { refuse } from './refuse.ts';

/** Begins an attempt: checks the preconditions and writes the prompt. A precondition that does not hold is never tried
 *  again: label `give_up`. */
export const orderPrompt = (
  options: StepOptions & { readonly template?: string },
  io: CommandIo,
): Promise<StepVerdict> =>
  onCurrentOrder(options, io, async (place, build, hand) => {
    const { workspace } = place;
    const files = filesInside(workspace);
    const { order } = hand.loaded;
    const attempt = hand.current.attempt + 1;
    const current: CurrentOrder = {
      ...hand.current,
      attempt,
      snapshot: io.env['FACTORY_SNAPSHOT'] ?? null,
      touched: [],
      written: null,
      failed: null,
    };
    // An answer to an earlier prompt must not be taken for the answer to this one.
    files.remove(inWorkspace.orderProposal);
    const unmet = await preflightProblem(workspace, order);
    if (unmet !== undefined) {
      const failed = stageFailure('preflight', unmet);
      await writeBuildState(place, { ...build.state, current: { ...current, failed } });
      return refuse(failed, { label: 'give_up' });
    }
    const path =
      options.template === undefined
        ? join(packageRoot(), 'prompts', 'propose.md')
        : resolve(io.cwd, options.template);
    if (options.template !== undefined) assertStaysInNode(io, options.template);
    const template = readPlain(path);
    if (template.kind === 'missing') return no('config', `there is no template at ${path}`);
    if (template.kind === 'none') return no('config', `the template ${path} ${template.why}`);
    const kept = keptCommands(order, await commandsBefore(place, build, io));
    const verify = await foretold(workspace, order, probeOf(io), kept);
    const facts = { order, attempt, verify, brief: current.brief };
    const prompt = await renderPrompt(template.text, workspace, facts);
    if ('problem' in prompt) return no('config', `${path}: ${prompt.problem}`);
    await files.write(inWorkspace.orderPrompt, prompt.text);
    await writeBuildState(place, { ...build.state, current });
    return yes(`${order.id}, attempt ${attempt}: ${inWorkspace.orderPrompt} is written`, {
      updates: { 'order.attempt': attempt, 'order.stage': '' },
    });
  });
