/** Finds why an attempt failed: the failure that a `factory order` tool recorded, or that of the failed node. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { inWorkspace, nodeLayout } from '../model/layout.ts';
import { once } from '../model/once.ts';
import { own } from '../model/own.ts';
import { mostReadOfStream } from '../policy/failure-excerpt.ts';
import type { CommandIo } from '../system/command-io.ts';
import { isMissing } from '../system/files.ts';
import { readEnds, readSome } from '../system/read.ts';
import { briefOf, briefOfChecks, type Printed } from './brief.ts';
import { type Ending, type FailureStage, neverRetried } from './stage.ts';
import type { CurrentOrder, FailureBrief } from './state.ts';
import { contextOf, type Place } from './tool.ts';
import { spoken } from './unittest.ts';

/** The failure that a tool recorded; without one, the engine's `last_failure`. `hopeless`: another attempt would fail the
 *  same way. */
export async function whatFailed(
  place: Place,
  current: CurrentOrder,
  io: CommandIo,
): Promise<{ brief: FailureBrief; hopeless: boolean }> {
  if (current.failed !== null) {
    const { stage, reason } = current.failed;
    // An answer that is no proposal is recognised by its beginning; for a proposal the reason is enough.
    const start = stage === 'llm_output_invalid' ? await beginning(place.workspace) : '';
    const text = start === '' ? reason : `${reason}\nthe answer began:\n${start}`;
    return { brief: briefOf(stage, text), hopeless: neverRetried.has(stage) };
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
    const nodeDir = /^[A-Za-z_]\w*$/.test(node) ? place.run.node(node) : undefined;
    const results =
      nodeDir === undefined ? undefined : await readJson(nodeLayout(nodeDir).verificationResults);
    const printed = nodeDir === undefined ? undefined : await printedLast(nodeDir, results);
    const ending = endingOf(failureClass, reason);
    // A command that is refused, or whose program is missing, fails in every attempt.
    const hopeless = ending === 'refused' || ending === 'missing';
    const command = ending === 'refused' ? await refusedCommand(place, node, results) : undefined;
    const stage = check ?? 'verify_failed';
    return {
      brief: briefOfChecks(stage, reason, { results, printed, node, ending, refused: command }),
      hopeless,
    };
  }
  const stage: FailureStage = failureClass === 'guardrail' ? 'write_scope_violation' : 'exception';
  const why = [
    node === '' ? '' : `node ${node} failed: `,
    reason === '' ? 'no reason was given' : reason,
  ].join('');
  // A missing program fails in every attempt; a model whose provider did not refuse may answer the next time.
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

/** Reads the reason of the verification node: its failure class alone also covers writes outside a scope, and folders that
 *  an order may still create. */
function endingOf(failureClass: string, reason: string): Ending | undefined {
  if (failureClass === 'guardrail' && reason.startsWith('verification command rejected')) return 'refused';
  if (reason.startsWith('verification plan is not valid')) return 'refused';
  if (failureClass === 'config' && reason.startsWith('verification command cannot start')) return 'missing';
  return failureClass === 'timeout' ? 'timeout' : undefined;
}

/** The failure stage of each verification node of a build. */
const checks: Readonly<Record<string, FailureStage>> = {
  verify: 'verify_failed',
  promises: 'acceptance_failed',
  accept: 'acceptance_failed',
};

const ranSchema = once(() => z.object({ commands: z.array(z.unknown()) }));
const plannedSchema = once(() => z.object({ commands: z.array(z.string()) }));

/** The refused command: the first of the plan that has no result. */
async function refusedCommand(place: Place, node: string, results: unknown): Promise<string | undefined> {
  const ran = ranSchema().safeParse(results);
  if (!ran.success) return undefined;
  const plan = plannedSchema().safeParse(await readJson(nodeLayout(place.run.node(node)).verificationPlan));
  return plan.data?.commands[ran.data.commands.length];
}

/** What the last command printed, of which the results quote only the end. */
async function printedLast(nodeDir: string, results: unknown): Promise<Printed> {
  const count = ranSchema().safeParse(results).data?.commands.length ?? 0;
  const stream = (name: string) =>
    readEnds(join(nodeDir, `verification.${count - 1}.${name}.txt`), mostReadOfStream);
  return { stdout: await stream('stdout'), stderr: await stream('stderr') };
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
