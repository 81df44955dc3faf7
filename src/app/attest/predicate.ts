/** What an attestation says of a run: `predicate` of the statement with our own type. Fields are only ever added. docs/attest.md lists
 *  them. Nothing in it is a text of a scenario, of a survivor or of an agent. */
import * as z from 'zod';
import { spentSchema } from '../../core/budget/usage.ts';
import { once } from '../../core/once.ts';
import { failureClasses, outcomeWords, pausedWords } from '../../core/outcome.ts';
import { inputChangeSchema } from '../../core/records/manifest.ts';
import { answerSources } from '../../core/records/question.ts';
import { floorStates, isolations } from '../../core/records/result.ts';
import { strengthSchema } from '../../core/records/strength.ts';

const hash = once(() => z.string().regex(/^[0-9a-f]{64}$/));
const hashes = once(() => z.record(z.string(), hash()));
const count = once(() => z.int().nonnegative());

const runFacts = once(() =>
  z.object({
    id: z.string(),
    status: z.enum(['completed', 'overridden', 'failed', 'interrupted', ...pausedWords, 'unfinished']),
    exit_node: z.string().nullable(),
    failed_node: z.string().nullable(),
    failure_class: z.enum(failureClasses).nullable(),
    started_at: z.string(),
    last_record_at: z.string(),
    executions: count(),
    failed_executions: count(),
    factory_version: z.string(),
    journal: z.object({ records: count(), sha256: hash() }),
  }),
);

const inputHashes = once(() =>
  z.object({
    pipeline: z.object({ name: z.string(), sha256: hash() }),
    pipelines: hashes(),
    prompts: hashes(),
    schemas: hashes(),
    files: hashes(),
    agent_script: hash().nullable(),
    prices: hash().nullable(),
    base_commit: z.string().nullable(),
    suite: z.object({ files: count(), hmac_sha256: hash() }).nullable(),
  }),
);

const changeFacts = once(() =>
  z.object({ run_id: z.string(), at: z.string(), changed: z.array(inputChangeSchema()) }),
);

/** Fields with a default are missing in statements of earlier versions. */
const judgedFacts = once(() =>
  z.object({
    passed: count(),
    total: count(),
    floor: z.enum(floorStates).nullable(),
    passed_before: count().nullable(),
    isolation: z.enum(isolations).nullable(),
    strength: strengthSchema().omit({ left_out: true, why: true }).extend({ left_out: count() }).nullable(),
    execution: z.string().nullable().default(null),
    commit: z.string().nullable().default(null),
    tree: z.string().nullable().default(null),
    inherited: z.string().nullable().default(null),
    sealed: z.boolean().default(true),
  }),
);

const commandFacts = once(() =>
  z.object({
    node: z.string(),
    visit: z.int().positive(),
    outcome: z.enum(outcomeWords),
    what: z.string(),
    command: z.string(),
    exit_code: z.int().nullable(),
    replayed: z.boolean(),
    inherited: z.string().nullable().default(null),
    files: z.enum(['attested', 'others', 'start']).default('attested'),
  }),
);

const givenAnswer = once(() =>
  z.object({
    question: z.string(),
    answer: z.string().nullable(),
    by: z.string(),
    at: z.string(),
    from: z.enum(answerSources),
  }),
);

const acceptedFacts = once(() =>
  z.object({
    changes: z.array(changeFacts()),
    answers: z.array(givenAnswer()),
    overridden: z.array(
      z.object({ execution: z.string(), class: z.enum(failureClasses), question: z.string() }),
    ),
    weakness: z.array(z.object({ at: z.string(), who: z.string() })),
    notes: count(),
  }),
);

const originFacts = once(() => ({
  forked_from: z
    .object({
      run_id: z.string(),
      node: z.string(),
      visit: z.int(),
      before: z.boolean(),
      changed: z.array(z.string()),
    })
    .nullable(),
  replay_of: z
    .object({ run_id: z.string(), live: z.boolean(), executions: count(), diverged: z.boolean() })
    .nullable(),
}));

/** What verifying needs of it: the rest may be of a later version. */
export const statedRunSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run: z.object({ id: z.string() }),
    test_result: z.object({ sha256: z.string() }).nullable(),
  }),
);

export const runPredicateSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run: runFacts(),
    test_result: z.object({ sha256: hash() }).nullable(),
    inputs: inputHashes(),
    judged: judgedFacts().nullable(),
    commands: z.array(commandFacts()),
    more_commands: count(),
    proof: z.array(z.string()).nullable(),
    audit: z.object({ findings: count(), errors: count(), warnings: count() }).nullable(),
    commits: z.array(z.object({ work_order: z.string(), commit: z.string(), tree: z.string().nullable() })),
    agents: z.object({
      name: z.string(),
      asked: z.array(z.object({ node: z.string(), agent: z.string(), model: z.string().nullable() })),
    }),
    cost: spentSchema(),
    sandbox: z.object({
      used: z.string().nullable(),
      enforces: z.array(z.string()),
      not_enforced: z.array(z.string()),
      earlier: z.array(z.string().nullable()).default([]),
      unknown_for: count().default(0),
      nodes: z.record(z.string(), z.string()),
    }),
    accepted: acceptedFacts(),
    ...originFacts(),
    not_checked: z.array(z.string()),
  }),
);
export type RunPredicate = z.infer<ReturnType<typeof runPredicateSchema>>;
