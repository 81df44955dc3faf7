/** `manifest.json`: the inputs of a run; they make it self-contained. Fields are only ever added. */
import * as z from 'zod';
import { autoAnswersSchema } from '../auto-answer.ts';
import { priceFileSchema, priceSchema } from '../budget/prices.ts';
import { fidelities } from '../fidelity.ts';
import { serverApis } from '../model-server.ts';
import { once } from '../once.ts';
import { limitNames, recordedName, runLimits } from '../settings/limits.ts';
import type { AttributeSpec } from '../settings/types.ts';
import { fileName, innerPath, runId } from './names.ts';

const hash = once(() => z.string().describe('SHA-256, hex'));

const fileVariableSchema = once(() =>
  z.object({
    value: z.string().describe('Value of `${var.name}`: the text, or the workspace path of a file variable'),
    file: z
      .object({
        source: z.string().describe('Absolute path of the file that was read'),
        sha256: hash().describe('Names the text in the content store'),
        stored: fileName().describe('Its name in the workspace folder `.factory/in/`'),
      })
      .optional(),
  }),
);

/** An own node type. Its code is not kept: it may import more than its file. */
const ownTypeSchema = once(() =>
  z.object({
    path: z.string().nullable().describe('Absolute; null if a program has handed it in'),
    sha256: hash().nullable(),
    does: z.string(),
    shapes: z.array(z.string()),
    aliases: z.array(z.string()),
  }),
);

/** A server of models, without its key. */
const serverSchema = once(() =>
  z.object({
    base_url: z.string().describe('Without its query'),
    api: z.enum(serverApis),
    key: z
      .string()
      .exactOptional()
      .describe('Name of the variable with the key; none for a server without one'),
    headers: z
      .record(z.string(), z.string())
      .exactOptional()
      .describe('With the names of variables in place of their values'),
    models: z.array(z.string()).exactOptional().describe('All that it has'),
    prices: z.record(z.string(), priceSchema()).exactOptional().describe('USD per million tokens, by model'),
  }),
);

/** The checkpoint that a run was forked from. */
export const forkedFromSchema = once(() =>
  z.object({
    run_id: z.string(),
    run_dir: z.string().describe('Absolute, at the time of the fork'),
    node: z.string(),
    visit: z.int().positive(),
    before: z.boolean().describe('Right before that execution; else right after it'),
    seq: z
      .int()
      .positive()
      .describe('How many records (the start and executions) the two runs have in common'),
    sha256: hash().describe('Of those records as the forked run has them, a line each'),
    changed: z
      .array(z.string())
      .describe(
        'What differs from the forked run: pipeline, set NODE.ATTRIBUTE, var NAME, agent, script, model, holdout, …',
      ),
    set: z
      .array(z.string())
      .exactOptional()
      .describe(
        '`NODE.ATTRIBUTE` that this fork or one before it has set: their values are at the end of the text of the pipeline',
      ),
  }),
);
export type ForkedFrom = z.infer<ReturnType<typeof forkedFromSchema>>;

/** Whether a run keeps the pipeline and prompts that it was forked with, though their files may have changed since, or never had
 *  what the fork has set. */
export const keepsTexts = ({ forked_from: from }: { readonly forked_from?: ForkedFrom }): boolean =>
  from !== undefined &&
  (from.set !== undefined || !from.changed.some((what) => ['pipeline', 'prompts', 'schemas'].includes(what)));

/** What a resume has changed: of texts their SHA-256, of settings their values; null for none. */
export const inputChangeSchema = once(() =>
  z.object({
    what: z.string().describe('pipeline, prompt NAME, variable NAME, model, limit NAME, …'),
    before: z.string().nullable(),
    after: z.string().nullable(),
  }),
);
export type InputChange = z.infer<ReturnType<typeof inputChangeSchema>>;

/** One resume with other inputs or settings. */
const resumeChangeSchema = once(() =>
  z.object({
    run_id: z.string().describe('The run that was resumed: this one, or one that it was forked from'),
    at: z.string(),
    manifest_sha256: hash().describe('Of the manifest before'),
    changed: z.array(inputChangeSchema()),
  }),
);

/** The run whose record answers in a replay. */
const replayOfSchema = once(() =>
  z.object({
    run_id: z.string(),
    run_dir: z.string().describe('Absolute, as its records name it'),
    forked_from: z
      .object({ run_id: z.string(), run_dir: z.string() })
      .exactOptional()
      .describe('The run that it was forked from, which its records may name'),
    live: z.boolean().describe('Whether agents answer after a divergence from the record'),
    prompts: z.record(z.string(), z.string()).describe('By node: prompts in place of those of the pipeline'),
    changed: z
      .array(z.string())
      .describe('What differs from the recorded run: var NAME, prompt NODE, agent, …'),
    run_tools: z
      .boolean()
      .exactOptional()
      .describe('Whether tools and verifications run, though the record has them'),
  }),
);
export type ReplayOf = z.infer<ReturnType<typeof replayOfSchema>>;

// A limit that a later version adds is missing here.
const capsSchema = once(() =>
  z.object(
    Object.fromEntries(
      limitNames.map((name) => {
        const { words }: AttributeSpec = runLimits[name];
        const value = words === undefined ? z.number() : z.enum(words);
        return [recordedName(name), value.nullable().optional()];
      }),
    ),
  ),
);

export const manifestSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    run_id: runId(),
    pipeline_path: z.string().describe('As typed by the user'),
    pipeline_file: z.string().optional().describe('Absolute'),
    original_workdir: z.string().describe('Absolute; empty if the run started with an empty tree'),
    workspace_path: z.string(),
    started_at: z.string(),
    goal: z.unknown().optional(),
    factory_version: z.string(),
    node_version: z.string(),
    pipeline: z.object({
      text: z.string(),
      sha256: hash(),
      label: z.string().exactOptional().describe('Of the graph in the text; empty without one'),
      branches: z
        .boolean()
        .exactOptional()
        .describe('Whether nodes of the graph open branches or call pipelines'),
    }),
    prompts: z.record(z.string(), z.object({ path: z.string(), text: z.string(), sha256: hash() })),
    schemas: z
      .record(z.string(), z.object({ path: z.string(), text: z.string(), sha256: hash() }))
      .optional(),
    pipelines: z
      .record(z.string(), z.object({ path: z.string(), text: z.string(), sha256: hash() }))
      .exactOptional()
      .describe('Pipelines that nodes call, by path relative to the folder of the pipeline'),
    variables: z.record(z.string(), fileVariableSchema()),
    node_types: z
      .record(z.string(), ownTypeSchema())
      .exactOptional()
      .describe('Own node types of the project that the pipeline uses'),
    agent: z.object({
      name: z.string().describe('The chosen agent, several separated by commas; empty if no node needs one'),
      describe: z.string(),
      chosen_by: z.string(),
      by_provider: z
        .record(z.string(), z.string())
        .exactOptional()
        .describe('The agents that `llm_provider` of nodes has chosen, by provider'),
      provider: z
        .string()
        .exactOptional()
        .describe('The provider of nodes that name none, if one was chosen'),
      servers: z
        .record(z.string(), serverSchema())
        .exactOptional()
        .describe('By provider: the servers that the nodes ask'),
      script: z.object({ path: z.string(), sha256: hash(), stored: fileName() }).optional(),
      model: z.string().optional(),
      effort: z.string().optional().describe('Reasoning effort of nodes without one'),
      fidelity: z.enum(fidelities).exactOptional().describe('Of nodes and edges without one, by flag'),
      temperature: z.number().optional().describe('Sampling temperature, if one was chosen'),
      flags: z
        .object({
          agent: z.string(),
          provider: z.string(),
          model: z.string(),
          effort: z.string(),
          script_sha256: hash(),
        })
        .partial()
        .exactOptional()
        .describe('Values of the flags, used or not: a resume may repeat them'),
    }),
    base_commit: z.string().nullable().describe('HEAD of the workdir if it is the top of a git repository'),
    workdir_kind: z.enum(['none', 'folder', 'git']),
    git: z
      .object({
        base_commit: z.string().nullable().describe('HEAD of the workdir; null if the run has a new history'),
        author: z.object({ name: z.string(), email: z.string() }),
      })
      .optional()
      .describe('Only for pipelines whose tools make commits'),
    forked_from: forkedFromSchema().exactOptional(),
    replay_of: replayOfSchema().exactOptional(),
    changes: z
      .array(resumeChangeSchema())
      .exactOptional()
      .describe('Resumes with other inputs or settings, in order; a fork keeps those of the forked run'),
    marker: z
      .string()
      .regex(/^[A-Za-z0-9._-]+$/, 'is not a marker')
      .describe('Value of FACTORY_RUN_MARKER in every process of the run'),
    caps: capsSchema().describe('Limits; null for none. Durations are milliseconds'),
    origins: z
      .record(z.string(), z.enum(['flag', 'graph', 'default']))
      .exactOptional()
      .describe('By limit: where its value comes from'),
    prices: z
      .object({ path: z.string(), sha256: hash(), table: priceFileSchema() })
      .exactOptional()
      .describe('Prices that override the bundled ones'),
    texts: z
      .record(fileName(), hash())
      .exactOptional()
      .describe(
        'Other texts in the content store, by name: the agent script, the request of a plan or an order',
      ),
    setup: z
      .object({
        path: z.string().describe('Absolute path of the factory.json that was read'),
        sha256: hash().describe('Of the commands as JSON'),
        commands: z.array(z.string()),
      })
      .exactOptional()
      .describe('Commands of the project that make its workspace ready'),
    files: z
      .record(innerPath(), hash())
      .exactOptional()
      .describe('Files of the run directory that never change, by path'),
    holdout: holdoutSchema().exactOptional().describe('The holdout, if there is one'),
    env_pass: z.array(z.string()),
    secrets: z
      .array(z.string())
      .exactOptional()
      .describe('Variables that FACTORY_SECRETS names, and those with keys of model servers'),
    name: z.string().exactOptional().describe('That a user gave the run, for people'),
    labels: z
      .array(z.string())
      .exactOptional()
      .describe('Of the run, sorted: what caps per label count it by'),
    auto_answers: autoAnswersSchema()
      .exactOptional()
      .describe('What answers at human gates in place of a person'),
    sandbox: z
      .object({
        asked: z.enum(['auto', 'bwrap', 'none']).describe('The setting for nodes without one'),
        by: z
          .string()
          .describe('Source of the setting: the pipeline, --sandbox, FACTORY_SANDBOX, or the default'),
        used: z.enum(['bwrap', 'unshare', 'group']),
        why: z.string(),
        enforces: z.array(z.string()),
        missing: z.array(z.string()),
      })
      .exactOptional()
      .describe('The sandbox of nodes'),
    not_enforced: z
      .array(z.string())
      .describe('Protections that this machine or version does not enforce, in words'),
  }),
);
export type Manifest = z.infer<ReturnType<typeof manifestSchema>>;

/* The holdout: files that no agent may read, and their description in the manifest. */

/** A file, link or folder of the holdout, below a sealed path. */
export type SealedFile = {
  /** Relative to the workspace; bytes that are not UTF-8 are escaped as in `platform/files/names.ts`. */
  readonly path: string;
  readonly kind: 'file' | 'link' | 'dir';
  /** Permission bits; ignored for links. */
  readonly mode: number;
  /** A file's bytes, a link's target; empty for a folder. */
  readonly content: Buffer;
};

/** The description of the holdout in `manifest.json`. */
const holdoutSchema = once(() =>
  z.object({
    paths: z
      .array(innerPath())
      .describe('Sealed paths, relative to the workspace, without a slash at the end'),
    from: z.string().describe('`workdir`, or the absolute path of the source folder'),
    committed: z
      .literal(true)
      .exactOptional()
      .describe('Commits of the run may have scenarios that a fork has replaced by others'),
    files: z.int().nonnegative().describe('Files and links'),
    sha256: z
      .string()
      .describe('Of the list of all sealed entries: kind, mode, SHA-256 and path, one line each'),
    store_sha256: z.string().describe('Of the encrypted store'),
    key: fileName().describe('Name of the key, which is stored outside the run directory'),
  }),
);
export type Holdout = z.infer<ReturnType<typeof holdoutSchema>>;

/** The part that is shown to users and recorded: never file names or contents. */
export const holdoutFacts = ({ paths, files, from, sha256 }: Holdout) => ({
  paths: [...paths],
  files,
  from,
  sha256,
});
