/** Writes the prompt for an attempt at a work order. */
import { join, resolve } from 'node:path';
import { once } from '../core/once.ts';
import type { WorkOrder } from '../core/orders/work-order.ts';
import type { CurrentOrder } from '../core/records/build.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { assertStaysInNode } from '../platform/files/inside.ts';
import { readPlain } from '../platform/files/read.ts';
import { packageRoot } from '../platform/package.ts';
import type { Build } from './build-state.ts';
import { commandsBefore, keptCommands } from './kept-checks.ts';
import { renderPrompt } from './prompt.ts';
import { probeOf, type StepContext } from './step-context.ts';
import { foretold } from './verify.ts';

type Attempt = Pick<CurrentOrder, 'attempt' | 'brief'> & { readonly order: WorkOrder };

type Rendered = { readonly text: string } | { readonly problem: string };

/** Renders prompts from the template at `named`, else from the bundled one. */
export function promptWriter(
  place: StepContext,
  build: Pick<Build, 'state'>,
  named: string | undefined,
  io: CommandIo,
): (attempt: Attempt) => Promise<Rendered> {
  const path = named === undefined ? join(packageRoot(), 'prompts', 'propose.md') : resolve(io.cwd, named);
  if (named !== undefined) assertStaysInNode(io, named);
  const template = readPlain(path);
  const { workspace } = place;
  const probe = probeOf(io);
  const before = once(() => commandsBefore(place, build, io));
  return async ({ order, attempt, brief }) => {
    if (template.kind === 'missing') return { problem: `there is no template at ${path}` };
    if (template.kind === 'none') return { problem: `the template ${path} ${template.why}` };
    const kept = keptCommands(order, await before());
    const verify = await foretold(workspace, order, probe, kept);
    const prompt = await renderPrompt(template.text, workspace, { order, attempt, verify, brief });
    return 'problem' in prompt ? { problem: `${path}: ${prompt.problem}` } : prompt;
  };
}
