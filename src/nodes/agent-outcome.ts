/** What the report of an agent means for its node. */
import { type AgentAnswer, parseAnswer } from '../core/agent-answer.ts';
import type { AgentReport } from '../core/contracts/agent.ts';
import type { NodeAgent, NodeContext } from '../core/contracts/node-kind.ts';
import type { modelOf } from '../core/escalation.ts';
import type { JsonObject } from '../core/json.ts';
import {
  type AnsweredBy,
  emptyReport,
  failed,
  type NodeReport,
  type Outcome,
  succeeded,
} from '../core/outcome.ts';
import { verdictOnly } from '../core/own-words.ts';
import { reservedKeyIn } from '../core/policy/reserved-keys.ts';
import {
  type codergenAttributes,
  type commonAttributes,
  type executableAttributes,
  isGoalGate,
} from '../core/settings/node.ts';
import type { Settings } from '../core/settings/types.ts';
import { schemaProblem } from './schema.ts';

export type CodergenSettings = Settings<
  typeof commonAttributes & typeof executableAttributes & typeof codergenAttributes
>;

/** An agent node that has its report. */
export type Answered = {
  readonly settings: CodergenSettings;
  readonly context: NodeContext;
  readonly agent: NodeAgent;
  /** The schema of the answer. */
  readonly schema: JsonObject | undefined;
};

/** The outcome of a report; stores what it holds. */
export async function outcomeOfReport(report: AgentReport, node: Answered): Promise<Outcome> {
  if (report.kind === 'cancelled') return failed('cancelled', 'cancelled', { broke: true });
  await storeReportFiles(report, node);
  switch (report.kind) {
    case 'failed':
      return failed(report.reason, report.class, {
        broke: true,
        ...(isUnsaid(report, node.settings) ? { unsaid: true } : {}),
        ...(report.model === undefined ? {} : { model: report.model }),
        ...(report.retryAfterMs === undefined ? {} : { retryAfterMs: report.retryAfterMs }),
        ...(report.park === undefined ? {} : { park: report.park }),
        ...(isHopeless(report) ? { hopeless: true } : {}),
      });
    case 'answered':
      return answered(report, node);
    case 'finished':
      return finished(report, node);
  }
}

/** The outcome of a model's text. */
async function answered(
  { text, secrets }: Extract<AgentReport, { kind: 'answered' }>,
  { settings, context, schema }: Answered,
): Promise<Outcome> {
  const { response_file: file, response_check: check } = settings;
  const isGate = isGoalGate(settings);
  if (text.trim() === '') {
    const again = isGate ? { unsaid: true as const } : {};
    return failed('the model answered nothing', 'agent', { broke: true, model: 'output', ...again });
  }
  if (file !== undefined) {
    if (secrets !== undefined) return holdsSecret(file, secrets);
    const problem = await context.workspace.write(file, text);
    if (problem !== undefined)
      return failed(`response_file "${file}" cannot be written: ${problem}`, 'config', { broke: true });
  }
  const problem = check === 'strict' && schema !== undefined ? schemaProblem(text, schema) : undefined;
  if (problem !== undefined) {
    const why = `the answer does not fit the response schema: ${problem}`;
    return failed(why, 'agent', { broke: true, model: 'output' });
  }
  return isGate ? verdictIn(text) : succeeded();
}

/** The outcome that an agent program reports. */
function finished(
  report: Extract<AgentReport, { kind: 'finished' }>,
  { settings, context }: Answered,
): Outcome {
  const reserved = reservedKeyIn(report.updates, context.inputs.latestKeys);
  if (reserved !== undefined)
    return failed(`the agent set "${reserved}", a key of the engine's own`, 'agent', { broke: true });
  const { label, ownWord, suggested, notes, verificationPlan: plan } = report;
  const planKey = settings['verification.plan_context_key'];
  const updates = plan === undefined ? report.updates : { ...report.updates, [planKey]: plan };
  return outcomeOf(report, {
    ...{ label, suggested, notes, updates },
    ...(ownWord === undefined ? {} : { ownWord }),
  });
}

/** The outcome that an agent answered. */
function outcomeOf(
  { outcome, reason }: Pick<AgentAnswer, 'outcome' | 'reason'>,
  report: NodeReport,
): Outcome {
  if (outcome === 'fail') return failed(reason, 'product', report);
  return outcome === 'retry' ? { ...report, status: 'retry', reason } : { ...report, status: outcome };
}

/** Neither the secret nor an answer with a hole may become a file that later nodes use. */
function holdsSecret(file: string, names: readonly string[]): Outcome {
  const which = names.length === 0 ? '' : ` (${names.join(', ')})`;
  return failed(
    `the answer holds the value of a secret${which}, so response_file "${file}" was not written: keep it out of the prompt and of the files that the agent reads; if it is an ordinary word, change it or unset the variable`,
    'agent',
    { broke: true },
  );
}

/** Whether a retry would fail too until the user fixes the cause: a quota and an outage end by themselves. */
const isHopeless = ({ missing, class: of, park }: Extract<AgentReport, { kind: 'failed' }>): boolean =>
  missing === true || of === 'config' || park?.kind === 'auth' || park?.kind === 'billing';

/** Whether the program of a goal gate answered something that is no verdict. */
const isUnsaid = (
  { class: of, response = '' }: Extract<AgentReport, { kind: 'failed' }>,
  settings: CodergenSettings,
): boolean => isGoalGate(settings) && of === 'agent' && response.trim() !== '';

/** Stores what any report may contain: the answer, usage, reasoning, artifacts. */
async function storeReportFiles(
  report: Exclude<AgentReport, { kind: 'cancelled' }>,
  { context: { files }, agent }: Answered,
): Promise<void> {
  if (report.usage !== undefined) {
    agent.spent(report.usage);
    await files.keep('usage.json', `${JSON.stringify(report.usage, null, 2)}\n`);
  }
  if (report.reasoning !== undefined && report.reasoning.trim() !== '')
    await files.keep('reasoning.md', report.reasoning);
  for (const { name, content } of report.artifacts ?? []) await files.keep(name, content);
  const text = report.kind === 'answered' ? report.text : report.response;
  if (text !== undefined) await files.keep('response.md', text);
}

/** A goal gate needs an explicit verdict: prose alone does not count as success. */
function verdictIn(text: string): Outcome {
  const read = parseAnswer(text, verdictOnly);
  if ('problem' in read)
    return failed(`a goal gate needs an explicit verdict, and the answer ${read.problem}`, 'agent', {
      broke: true,
      model: 'output',
      unsaid: true,
    });
  const { outcome, reason } = read.answer;
  const why = reason === '' ? 'the agent reported that the goal is not reached' : reason;
  return outcomeOf({ outcome, reason: outcome === 'fail' ? why : reason }, emptyReport);
}

/** The agent that answered, if the node names several agents or several models. */
export function answeredBy(
  report: AgentReport,
  name: string,
  chosen: ReturnType<typeof modelOf>,
): AnsweredBy | undefined {
  const { by } = report;
  if (by === undefined && chosen === undefined) return undefined;
  const modelUsed = report.kind === 'cancelled' ? undefined : report.usage?.model;
  const model = modelUsed ?? chosen?.model;
  return {
    ...(by ?? { agent: name }),
    ...(model === undefined ? {} : { model }),
    ...(chosen === undefined ? {} : { escalation: chosen.escalation }),
  };
}
