/** The fake agent: does what the node's `test.…` attributes say, so that a pipeline's routes can be tried without a
 *  model. */
import * as z from 'zod';
import { agentWord, wordsFor } from '../core/agent-answer.ts';
import type { Agent, AgentReport, AgentTask, FailedReport } from '../core/contracts/agent.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { nearest } from '../core/nearest.ts';
import { once } from '../core/once.ts';
import { agentOutcomes } from '../core/outcome.ts';
import { namedLiterals } from '../core/own-words.ts';
import type { NodeSettings } from '../core/settings/node.ts';
import { type AttributeTable, attr, type Settings, text, trimmed } from '../core/settings/types.ts';

/** What it answers. */
export const fakeAttributes = {
  'test.outcome': attr(trimmed(), 'The outcome that it answers.', { unset: 'success' }),
  'test.outcome_sequence': attr(
    text(),
    'Outcomes by call of the node in the whole run; the last one repeats.',
    {
      example: 'retry,success',
    },
  ),
  'test.preferred_next_label': attr(text(), 'The preferred label that it answers.'),
  'test.suggested_next_ids': attr(text(), 'The suggested node ids that it answers.'),
  'test.notes': attr(text(), 'The notes that it answers.'),
  'test.context_updates_json': attr(text(), 'The context keys that it sets, as a JSON object.'),
  'test.verification_plan_json': attr(text(), 'The verification plan that it answers, as JSON.'),
} as const satisfies AttributeTable;

export function fakeAgent(): Agent {
  return {
    name: 'fake',
    free: true,
    describe: "fake: answers what the nodes' test attributes say",
    async work(task, signal) {
      return signal.aborted ? { kind: 'cancelled' } : reportFor(task);
    },
  };
}

const updatesSchema = once(() => z.record(z.string(), z.json()));

function reportFor(task: AgentTask): AgentReport {
  const settings: Partial<NodeSettings & Settings<typeof fakeAttributes>> = task.settings;
  const wrong = (key: string, why: string): FailedReport => ({
    kind: 'failed',
    class: 'config',
    reason: `node "${task.node}": ${key} ${why}`,
  });

  const sequence = settings['test.outcome_sequence'];
  const all = sequence?.split(',') ?? [settings['test.outcome'] ?? 'success'];
  const key = sequence === undefined ? 'test.outcome' : 'test.outcome_sequence';
  // Counted over the whole run: a loop that comes back, and a resume, continue the sequence.
  const written = all[Math.min(task.call, all.length) - 1] ?? '';
  const words = wordsFor(task);
  const word = agentWord(written, words);
  if (word === undefined) {
    const known = [...agentOutcomes, ...namedLiterals(words)];
    const meant = nearest(written, known);
    const hint = meant === undefined ? `there are ${known.join(', ')}` : `did you mean "${meant}"?`;
    const report = wrong(key, `says "${written.trim()}", which is no outcome that edges name; ${hint}`);
    return written.trim() === '' ? report : { ...report, class: 'agent' };
  }
  const { outcome } = word;
  const plan = jsonIn(settings['test.verification_plan_json'], z.json());
  if ('problem' in plan) return wrong('test.verification_plan_json', `is ${plan.problem}`);
  const updates = jsonIn<JsonObject>(settings['test.context_updates_json'], updatesSchema());
  if ('problem' in updates) return wrong('test.context_updates_json', `is ${updates.problem}`);

  return {
    kind: 'finished',
    outcome,
    label: word.label ?? settings['test.preferred_next_label'] ?? '',
    ...(word.label === undefined ? {} : { ownWord: true }),
    suggested: (settings['test.suggested_next_ids'] ?? '')
      .split(',')
      .map((id) => id.trim())
      .filter((id) => id !== ''),
    notes: settings['test.notes'] ?? 'fake backend',
    reason: '',
    updates: updates.value ?? {},
    ...(plan.value === undefined ? {} : { verificationPlan: plan.value }),
    response: `outcome=${outcome}\n`,
  };
}

function jsonIn<T extends Json>(
  text: string | undefined,
  schema: z.ZodType<T>,
): { readonly value: T | undefined } | { readonly problem: string } {
  if (text === undefined) return { value: undefined };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
  const read = schema.safeParse(value);
  return read.success ? { value: read.data } : { problem: 'not a JSON object' };
}

/** The stub: answers every task at once and does nothing, for dry runs of a pipeline's shape. It has to be asked for
 *  by name; nothing ever falls back on it, and its notes say that no work was done. */
export function stubAgent(): Agent {
  return {
    name: 'stub',
    free: true,
    describe: 'stub: does nothing and reports that',
    async work(_task, signal) {
      if (signal.aborted) return { kind: 'cancelled' };
      return {
        kind: 'finished',
        outcome: 'success',
        label: '',
        suggested: [],
        notes: 'stub agent: nothing was done, no real backend ran',
        reason: '',
        updates: {},
        response: undefined,
      };
    },
  };
}
