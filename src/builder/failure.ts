/** Finds why an attempt failed: the failure that a `factory order` tool recorded, or that of the failed node. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { failureExcerpt, mostReadOfStream } from '../core/failure-excerpt.ts';
import { isAgentType } from '../core/graph.ts';
import { own } from '../core/json.ts';
import { once } from '../core/once.ts';
import {
  endings,
  type FailureStage,
  neverRetried,
  reminderOf,
  type StageEnding,
} from '../core/orders/failure-stage.ts';
import type { CurrentOrder, FailureBrief } from '../core/records/build.ts';
import { inWorkspace, nodeLayout } from '../core/records/layout.ts';
import type { CommandIo } from '../platform/command-io.ts';
import { readEnds, readSome } from '../platform/files/read.ts';
import { isMissing } from '../platform/files/write.ts';
import { type StepContext, stepUpdates } from './step-context.ts';
import { spoken } from './unittest.ts';

/** The failure that a tool recorded; without one, the engine's `last_failure`. `hopeless`: another attempt would fail the
 *  same way. */
export async function whatFailed(
  place: StepContext,
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
  const context = await stepUpdates(io);
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
  const hopeless = isAgentType(nodeType)
    ? context['last_failure.hopeless'] === true
    : failureClass === 'config';
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
function endingOf(failureClass: string, reason: string): StageEnding | undefined {
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
async function refusedCommand(
  place: StepContext,
  node: string,
  results: unknown,
): Promise<string | undefined> {
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

/* Summarises why an attempt failed, for the prompt of the next attempt. */

/** The brief of a failure that a `factory order` tool found. */
export const briefOf = (stage: FailureStage, reason: string, ending?: StageEnding): FailureBrief => ({
  stage,
  command: null,
  exit_code: null,
  excerpt: failureExcerpt(reason),
  reminder: ending === undefined ? reminderOf(stage) : endings[ending],
});

/** What a command printed; undefined where that is not kept. */
type Printed = { readonly stdout: string | undefined; readonly stderr: string | undefined };

/** `verification.results.json`. */
export const commandResultsSchema = once(() =>
  z.object({
    commands: z.array(
      z.object({ command: z.string(), exit_code: z.number(), stdout: z.string(), stderr: z.string() }),
    ),
  }),
);

/** The brief of a failed verification node: its reason, and the last command in `verification.results.json` if that one
 *  failed, or the refused command, which has no exit code (a missing file fails without a command). `printed`: the whole
 *  output of that command, of which the results quote the end; `node`: where it is kept. */
function briefOfChecks(
  stage: FailureStage,
  reason: string,
  {
    results,
    printed,
    node,
    ending,
    refused,
  }: {
    readonly results: unknown;
    readonly printed?: Printed | undefined;
    readonly node?: string;
    readonly ending?: StageEnding | undefined;
    readonly refused?: string | undefined;
  },
): FailureBrief {
  if (refused !== undefined) return { ...briefOf(stage, reason, ending), command: spoken(refused) };
  const parsed = commandResultsSchema().safeParse(results);
  const last = parsed.success ? parsed.data.commands.at(-1) : undefined;
  if (last === undefined || last.exit_code === 0) return briefOf(stage, reason, ending);
  const nth = (parsed.data?.commands.length ?? 1) - 1;
  const streams = (['stderr', 'stdout'] as const)
    .map((name) => {
      const whole = node === undefined ? {} : { whole: `${node}/verification.${nth}.${name}.txt` };
      return [name, failureExcerpt(printed?.[name] ?? last[name], whole)] as const;
    })
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `[${name}]\n${text}`);
  return {
    stage,
    command: spoken(last.command),
    exit_code: last.exit_code,
    excerpt: [failureExcerpt(reason), ...streams].join('\n'),
    reminder: briefOf(stage, reason, ending).reminder,
  };
}
