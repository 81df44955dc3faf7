/** What every agent promises: the first lines of each backend's test. */
import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { agentAttributes } from '../../src/agents/index.ts';
import type { Agent, AgentReport, AgentTask } from '../../src/core/contracts/agent.ts';
import { failureClasses, parkKinds } from '../../src/core/outcome.ts';
import { type NodeSettings, nodeAttributes } from '../../src/core/settings/node.ts';
import type { AttributeTable } from '../../src/core/settings/types.ts';

/** An agent to be tried, and what the test may ask of it. */
export type Subject = AsyncDisposable & {
  /** Can do the task of `taskFor()`. */
  readonly agent: Agent;
  /** The same kind of agent where it cannot do its work, or gets an impossible task. */
  readonly broken?: { readonly agent: Agent; readonly task?: TaskText };
  /** An agent whose work takes until it is stopped, and the moment it has begun. */
  readonly endless?: { readonly agent: Agent; begun(): Promise<void> };
  /** Settles once nothing of the agent's is open any more (connections, processes). */
  readonly quiet?: () => Promise<void>;
};

/** Attributes as an author writes them. */
export type Words = Readonly<Record<string, string>>;
export type TaskText = Partial<AgentTask> & { readonly attributes?: Words };

const attributeTable: AttributeTable = { ...nodeAttributes, ...agentAttributes };

/** The settings that a node with these attributes has itself. */
export function settingsOf(words: Words): Partial<NodeSettings> {
  const said = Object.entries(words).filter(([, text]) => text.trim() !== '');
  const settings = said.map(([key, text]) => {
    const read = attributeTable[key]?.read({ kind: 'string', text });
    if (read?.ok !== true) throw new Error(`${key} "${text}" ${read?.why ?? 'is unknown'}`);
    return [key, read.value];
  });
  return Object.fromEntries(settings) as Partial<NodeSettings>;
}

/** What of a task a node with these attributes decides. */
export const saidBy = (attributes: Words): Pick<AgentTask, 'settings' | 'model'> => {
  const settings = settingsOf(attributes);
  const [model] = settings.llm_model ?? [];
  return { settings, ...(model === undefined ? {} : { model }) };
};

export const taskFor = ({ attributes = {}, ...more }: TaskText = {}): AgentTask => ({
  node: 'work',
  call: 1,
  prompt: 'do it',
  workspace: tmpdir(),
  nodeDir: tmpdir(),
  ...saidBy(attributes),
  run: () => Promise.reject(new Error('this test has no programs')),
  keep: async () => {},
  log: () => {},
  acted: () => {},
  ...more,
});

const never = (): AbortSignal => new AbortController().signal;

const Usage = z.strictObject({
  provider: z.string().optional(),
  model: z.string().min(1),
  input_tokens: z.int().nonnegative().nullable(),
  output_tokens: z.int().nonnegative().nullable(),
  cached_input_tokens: z.int().nonnegative().nullable().optional(),
  cache_write_tokens: z.int().nonnegative().nullable().optional(),
  reasoning_tokens: z.int().nonnegative().nullable().optional(),
  cost_usd: z.number().nonnegative().nullable(),
  incomplete: z.literal(true).optional(),
  agent: z.string().min(1).optional(),
});
const beside = {
  usage: Usage.optional(),
  unbilled: z.literal(true).optional(),
  denied: z.array(z.string().min(1)).min(1).optional(),
  spentBefore: z.array(Usage).min(1).optional(),
  by: z
    .strictObject({
      agent: z.string().min(1),
      tried: z
        .array(z.strictObject({ agent: z.string(), class: z.enum(failureClasses), reason: z.string() }))
        .min(1)
        .optional(),
    })
    .optional(),
  reasoning: z.string().min(1).optional(),
  artifacts: z
    .array(z.strictObject({ name: z.string().regex(/^[a-z0-9_]+\.[a-z]+$/), content: z.string() }))
    .min(1)
    .optional(),
};
const Report = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('finished'),
    outcome: z.enum(['success', 'partial_success', 'retry', 'fail']),
    label: z.string(),
    ownWord: z.literal(true).optional(),
    suggested: z.array(z.string().min(1)),
    notes: z.string(),
    reason: z.string(),
    updates: z.record(z.string(), z.json()),
    verificationPlan: z.json().optional(),
    response: z.string().or(z.undefined()),
    ...beside,
  }),
  z.strictObject({ kind: z.literal('answered'), text: z.string(), ...beside }),
  z.strictObject({
    kind: z.literal('failed'),
    class: z.enum(failureClasses),
    reason: z.string().min(1),
    model: z.enum(['api', 'output']).optional(),
    retryAfterMs: z.number().nonnegative().optional(),
    missing: z.literal(true).optional(),
    park: z
      .strictObject({
        kind: z.enum(parkKinds),
        wakeAtMs: z.number().nonnegative().optional(),
        unsaid: z.literal(true).optional(),
        waitedMs: z.number().positive().optional(),
      })
      .optional(),
    response: z.string().optional(),
    threadLost: z.literal(true).optional(),
    ...beside,
  }),
  z.strictObject({
    kind: z.literal('cancelled'),
    usage: Usage.optional(),
    by: beside.by,
    spentBefore: beside.spentBefore,
  }),
]);

/** Fails the test when a report has not the shape it must have. */
export const wellFormed = (report: AgentReport): AgentReport => {
  expect(() => Report.parse(report)).not.toThrow();
  return report;
};

export function keepsTheAgentContract(name: string, makeAgent: () => Subject | Promise<Subject>): void {
  describe(`${name} keeps the agent contract`, () => {
    test('it says in one line who answers', async () => {
      await using subject = await makeAgent();
      expect(subject.agent.name).toBe(name);
      expect(subject.agent.describe).toMatch(/^\S.*\S$/);
    });

    test('a task that it can do ends in a well-formed report, and leaves nothing open', async () => {
      await using subject = await makeAgent();
      const report = wellFormed(await subject.agent.work(taskFor(), never()));
      expect(report.kind).toMatch(/^(finished|answered)$/);
      // A success says what was done, or that nothing was.
      if (report.kind === 'finished') expect(`${report.notes}${report.response ?? ''}`).not.toBe('');
      if (report.kind === 'answered') expect(report.text).not.toBe('');
      await subject.quiet?.();
    });

    test('a task whose signal has fired already is cancelled, without any work', async () => {
      await using subject = await makeAgent();
      const heard: string[] = [];
      const task = taskFor({ onText: (text) => heard.push(text) });
      expect(await subject.agent.work(task, AbortSignal.abort())).toEqual({ kind: 'cancelled' });
      expect(heard).toEqual([]);
      await subject.quiet?.();
    });

    test('two tasks at once do not disturb each other: stopping one leaves the other', async () => {
      await using subject = await makeAgent();
      const stop = new AbortController();
      const both = [subject.agent.work(taskFor(), never()), subject.agent.work(taskFor(), stop.signal)];
      stop.abort();
      const [kept, stopped] = await Promise.all(both);
      expect(kept?.kind).toMatch(/^(finished|answered)$/);
      // An agent that answers at once may have been done before it was stopped.
      if (subject.endless !== undefined) expect(stopped?.kind).toBe('cancelled');
      await subject.quiet?.();
    });

    test('a view that throws does not break the work', async () => {
      await using subject = await makeAgent();
      const task = taskFor({
        onText: () => {
          throw new Error('no view');
        },
      });
      expect((await subject.agent.work(task, never())).kind).toMatch(/^(finished|answered)$/);
    });

    test('work that cannot be done is a failed report, never a rejection and never a success', async ({
      skip,
    }) => {
      await using subject = await makeAgent();
      if (subject.broken === undefined) return skip(`${name} has nothing that could break`);
      const report = wellFormed(await subject.broken.agent.work(taskFor(subject.broken.task), never()));
      expect(report.kind).toBe('failed');
      await subject.quiet?.();
    });

    test('work in progress that is stopped settles as cancelled and leaves nothing open', async ({
      skip,
    }) => {
      await using subject = await makeAgent();
      if (subject.endless === undefined) return skip(`${name} answers at once`);
      const stop = new AbortController();
      const kept: string[] = [];
      const thread = { key: 'k', before: undefined, keep: (text: string) => void kept.push(text) };
      const task = taskFor(subject.agent.threads === true ? { thread } : {});
      const report = subject.endless.agent.work(task, stop.signal);
      await subject.endless.begun();
      stop.abort();
      expect(await report).toEqual({ kind: 'cancelled' });
      expect(kept).toEqual([]);
      await subject.quiet?.();
    });
  });
}
