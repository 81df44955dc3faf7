/** Why an attempt failed: what a tool of ours noted in it, or what the engine tells of the stage that failed. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { inWorkspace, nodeLayout } from '../model/layout.ts';
import { own } from '../model/own.ts';
import { isMissing } from '../system/files.ts';
import { readSome } from '../system/read.ts';
import { briefOf, briefOfChecks } from './brief.ts';
import { type Ending, type FailureStage, neverRetried } from './stage.ts';
import type { CurrentOrder, FailureBrief } from './state.ts';
import { type CommandIo, contextOf, type Place } from './tool.ts';
import { spoken } from './unittest.ts';

/** What a tool of ours noted, else what the engine says failed last. `hopeless`: another attempt would fail alike. */
export async function whatFailed(
  place: Place,
  current: CurrentOrder,
  io: CommandIo,
): Promise<{ brief: FailureBrief; hopeless: boolean }> {
  if (current.failed !== null) {
    const { stage, reason } = current.failed;
    // What was no proposal is told apart by how it began; of one that was, only what is wrong with it is told.
    const began = stage === 'llm_output_invalid' ? await beginning(place.workspace) : '';
    const said = began === '' ? reason : `${reason}\nthe answer began:\n${began}`;
    return { brief: briefOf(stage, said), hopeless: neverRetried.has(stage) };
  }
  const context = await contextOf(io);
  const text = (key: string): string => {
    const value = context[`last_failure.${key}`];
    return typeof value === 'string' ? value : '';
  };
  const [node, nodeType, reason, failureClass] = [
    text('node_id'),
    text('node_type'),
    spoken(text('reason')),
    text('class'),
  ];
  const check = own(checks, node);
  if (nodeType === 'verification' || check !== undefined) {
    const results = /^[A-Za-z_]\w*$/.test(node)
      ? await readJson(nodeLayout(place.run.node(node)).verificationResults)
      : undefined;
    const ending = endingOf(failureClass, reason);
    // A command that may not run, or has no program, is the same in every attempt.
    const hopeless = ending === 'refused' || ending === 'missing';
    const command = ending === 'refused' ? await refusedCommand(place, node, results) : undefined;
    const stage = check ?? 'verify_failed';
    return { brief: briefOfChecks(stage, reason, { results, ending, refused: command }), hopeless };
  }
  const stage: FailureStage = failureClass === 'guardrail' ? 'write_scope_violation' : 'exception';
  const why = [
    node === '' ? '' : `stage ${node} failed: `,
    reason === '' ? 'no reason was given' : reason,
  ].join('');
  // A missing program is the same in every attempt; a model that was not refused may answer the next time.
  const hopeless =
    nodeType === 'codergen' ? context['last_failure.hopeless'] === true : failureClass === 'config';
  return { brief: briefOf(stage, why), hopeless };
}

/** Characters shown of an answer that could not be read. */
const beginningLimit = 500;

async function beginning(workspace: string): Promise<string> {
  const head = await readSome(join(workspace, inWorkspace.orderProposal), beginningLimit * 4);
  return [...(head ?? '').trim()].slice(0, beginningLimit).join('');
}

/** By the words of the verification node: its classes alone also tell of writes outside a scope, and of folders that an
 *  order may yet make. */
function endingOf(failureClass: string, reason: string): Ending | undefined {
  if (failureClass === 'guardrail' && reason.startsWith('verification command rejected')) return 'refused';
  if (reason.startsWith('verification plan is not valid')) return 'refused';
  if (failureClass === 'config' && reason.startsWith('verification command cannot start')) return 'missing';
  return failureClass === 'timeout' ? 'timeout' : undefined;
}

/** The verification nodes of a build, by the stage that their failure is. */
const checks: Readonly<Record<string, FailureStage>> = {
  verify: 'verify_failed',
  promises: 'acceptance_failed',
  accept: 'acceptance_failed',
};

const Ran = z.object({ commands: z.array(z.unknown()) });
const Planned = z.object({ commands: z.array(z.string()) });

/** The command that may not run: the first of the plan that has no result. */
async function refusedCommand(place: Place, node: string, results: unknown): Promise<string | undefined> {
  const ran = Ran.safeParse(results);
  if (!ran.success) return undefined;
  const plan = Planned.safeParse(await readJson(nodeLayout(place.run.node(node)).verificationPlan));
  return plan.data?.commands[ran.data.commands.length];
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
