/** `result.json` and `factory run --json`: the result of a run, for programs. Fields are only ever added. */
import * as z from 'zod';
import { nothingSpent, spentSchema } from '../budget/usage.ts';
import { once } from '../once.ts';
import { failureClasses, outcomeWords, pausedWords } from '../outcome.ts';
import { aheadCountsSchema } from './ahead.ts';
import { auditCountsSchema } from './audit.ts';
import { markSchema } from './checkpoint.ts';
import { divergenceSchema } from './exchange.ts';
import { branchEndWords } from './fork.ts';
import { forkedFromSchema } from './manifest.ts';
import { overriddenSchema, type Question, questionSchema } from './question.ts';
import { strengthSchema } from './strength.ts';

export const commitSchema = once(() =>
  z.object({
    work_order: z.string(),
    commit: z.string().nullable().describe('Null if the order changed nothing'),
    subject: z.string(),
    attempts: z.number(),
  }),
);
export type Commit = z.infer<ReturnType<typeof commitSchema>>;

const deniedCallsSchema = once(() => z.object({ node: z.string(), calls: z.array(z.string()) }));
export type DeniedCalls = z.infer<ReturnType<typeof deniedCallsSchema>>;

/** What is known of a suite of scenarios that has passed: it rejects products that do nothing, or does not. */
export const floorStates = ['held', 'failed', 'not_checked', 'off'] as const;
export type FloorState = (typeof floorStates)[number];

/** How far a scenario was separated from the product, from the strongest: separate sandboxes; a sandbox around both; none. */
export const isolations = ['launcher', 'phase', 'none'] as const;
export type Isolation = (typeof isolations)[number];

/** The branches of a run, without those of calls. */
const branchCountsSchema = once(() =>
  z.object({
    all: z.int().nonnegative(),
    ended: z.object({
      completed: z.int().nonnegative(),
      failed: z.int().nonnegative(),
      cancelled: z.int().nonnegative(),
    }),
    latest: z
      .array(
        z.object({
          id: z.string(),
          node: z.string().describe('The node that opened it'),
          join: z.string().describe('The node at which it meets the others'),
          status: z.enum([...branchEndWords, 'open']),
          reason: z.string(),
          class: z.enum(failureClasses).nullable(),
          executions: z.int().nonnegative().describe('Of its nodes, without those of branches in it'),
          at: z.string().nullable().describe('`NODE@VISIT`, the last of them'),
        }),
      )
      .describe('What each did the last time that it was opened; the latest 200'),
  }),
);

/** What a result has of human gates. */
const ofGates = once(() => ({
  question: questionSchema().exactOptional().describe('That a suspended run asks a person'),
  questions: z
    .array(questionSchema())
    .exactOptional()
    .describe('All, where branches ask more than one; `question` is the first'),
  overridden: z
    .array(overriddenSchema())
    .exactOptional()
    .describe(
      'Failures that led to a human gate and that nothing has settled since: why a success is `overridden`',
    ),
  answers: z
    .object({
      people: z.int().nonnegative(),
      automatic: z.int().nonnegative().describe('By `--auto-answer`'),
      timeouts: z.int().nonnegative().describe('Questions without an answer in time'),
    })
    .exactOptional()
    .describe('How many answers its human gates got; absent without any'),
}));

export const runResultSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: z.string(),
    status: z.enum(['completed', 'overridden', 'failed', 'interrupted', ...pausedWords]),
    exit_code: z.number(),
    exit_node: z.string().nullable(),
    reason: z.string().describe('Empty if the run completed'),
    failed_node: z.string().nullable(),
    failure_class: z.enum(failureClasses).nullable(),
    failure_output: z
      .string()
      .describe('What the output of the failed node says of the failure, up to 8 KiB a stream'),
    agent: z.string().describe('The agent; `none` if no node needs one'),
    stages: z.number().describe('Executions of nodes'),
    failed_stages: z.number().describe('Executions that ended in fail'),
    retries: z.number(),
    branches: branchCountsSchema()
      .exactOptional()
      .describe('Branches that ran side by side; absent without any'),
    restarts: z.int().exactOptional().describe('Times that it took an edge with `loop_restart`'),
    denied: z
      .array(deniedCallsSchema())
      .exactOptional()
      .describe('Tool calls that the permissions of an agent program did not allow, by node'),
    elapsed_ms: z.number(),
    spent: spentSchema().default(nothingSpent),
    wake_at: z
      .string()
      .exactOptional()
      .describe(
        'When a run that is suspended for a quota can resume, or its question is no longer open; RFC 3339',
      ),
    ...ofGates(),
    commits: z.array(commitSchema()),
    ahead: aheadCountsSchema()
      .exactOptional()
      .describe('Work orders asked for before their turn; absent if none was'),
    proof: z
      .array(z.string())
      .nullable()
      .default(null)
      .describe(
        'Commands that ran on a clean checkout of the final commit: empty if there were none, null without a proof',
      ),
    audit: auditCountsSchema()
      .extend({ sha256: z.string().exactOptional() })
      .exactOptional()
      .describe('Summary of the audit at the end of the run; `audit.json` has all findings'),
    evidence: evidenceSchema().exactOptional().describe('The evidence for the result'),
    verify: z.string().exactOptional().describe('The command that checks the evidence'),
    forked_from: forkedFromSchema().exactOptional(),
    replay_of: z.string().exactOptional().describe('The run whose record answered'),
    divergence: divergenceSchema().exactOptional().describe('Where a replay diverged from the record'),
    run_dir: z.string(),
    workspace: z.string(),
    next: z.string().describe('The command to run next; empty if there is none'),
  }),
);
export type RunResult = z.infer<ReturnType<typeof runResultSchema>>;

/** The questions that a suspended run asks. */
export const askedIn = ({
  question,
  questions,
}: Pick<RunResult, 'question' | 'questions'>): readonly Question[] =>
  questions ?? (question === undefined ? [] : [question]);

/** The evidence for a run's result, in `result.json`. Fields are only ever added. */
const hash = once(() => z.string().describe('SHA-256, hex'));
const hashes = once(() => z.record(z.string(), hash()));

const evidenceCommandSchema = once(() =>
  z.object({
    node: z.string(),
    visit: z.int().positive().describe('The latest execution of the node'),
    outcome: z.enum(outcomeWords).describe('Of that execution'),
    what: z.enum(['tool', 'verification', 'scenario', 'proof']),
    command: z.string().describe('Quoted for a shell; secrets masked'),
    exit_code: z.int().nullable().describe('Null if it did not end by itself'),
    stdout_sha256: hash().nullable(),
    stderr_sha256: hash().nullable(),
  }),
);
export type EvidenceCommand = z.infer<ReturnType<typeof evidenceCommandSchema>>;

export const outdatedSchema = once(() => z.object({ work_order: z.string(), command: z.string() }));
export type Outdated = z.infer<ReturnType<typeof outdatedSchema>>;

/** Hashes of what the run was started from. */
const evidenceInputsSchema = once(() =>
  z.object({
    pipeline: hash(),
    pipelines: hashes().exactOptional().describe('Of pipelines that nodes call'),
    variables: hashes().describe('Hashes of the text of file variables and of the value of others'),
    prompts: hashes(),
    schemas: hashes(),
    scenarios: z.object({ sha256: hash(), files: z.int() }).nullable().describe('Null without a holdout'),
    agent_script: hash().nullable(),
    prices: hash().nullable(),
  }),
);

const evidenceSchema = once(() =>
  z.object({
    commands: z
      .array(evidenceCommandSchema())
      .describe(
        'In a failed run, commands of nodes that failed; else of the latest execution of every tool and verification',
      ),
    more_commands: z.int().nonnegative().describe('Commands that are not listed'),
    inputs: evidenceInputsSchema(),
    judged: z
      .object({
        passed: z.int().nonnegative(),
        total: z.int().nonnegative(),
        floor: z
          .enum(floorStates)
          .exactOptional()
          .describe('Whether they reject products that do nothing; absent if they did not pass'),
        passed_before: z
          .int()
          .nonnegative()
          .exactOptional()
          .describe('How many passed on the tree with which the run began'),
        isolation: z
          .enum(isolations)
          .exactOptional()
          .describe('The weakest isolation of one that passed: docs/scenarios.md'),
        strength: strengthSchema()
          .exactOptional()
          .describe('How many mutants of the product they noticed: docs/strength.md; absent if not measured'),
      })
      .exactOptional()
      .describe(
        'Scenarios of the latest `factory scenario run` that ended the command of a tool which saw the holdout',
      ),
    unjudged: z
      .string()
      .exactOptional()
      .describe('That no scenario judged the product, and why: no holdout, no scenarios, or all skipped'),
    unchecked_orders: z
      .array(z.string())
      .exactOptional()
      .describe('Work orders whose only acceptance command is `true`'),
    asked: z
      .array(z.object({ node: z.string(), agent: z.string(), model: z.string().nullable() }))
      .exactOptional()
      .describe('The models that each node asked; null where the agent chose it itself'),
    unchanged_orders: z
      .array(z.string())
      .exactOptional()
      .describe('Work orders that changed no file although their notes do not allow it'),
    outdated: z
      .array(outdatedSchema())
      .exactOptional()
      .describe('Acceptance commands of earlier work orders that failed on the final commit'),
    base_commit: z.string().nullable(),
    commits: z.array(z.object({ work_order: z.string(), commit: z.string(), tree: z.string().nullable() })),
    snapshot: z.string().nullable().describe('The workspace after the last node'),
    chain: hash().describe('Of all executions and so of their artifacts'),
    journals: z.record(z.string(), markSchema()).describe('By path in the run directory'),
    factory_version: z.string(),
  }),
);
export type Evidence = z.infer<ReturnType<typeof evidenceSchema>>;
