/** The line of `journal.jsonl` for the prompt, answer and changes of an agent in one attempt of a node. */
import * as z from 'zod';
import { usageSchema } from '../budget/usage.ts';
import { once } from '../once.ts';
import { bodySchema, textHash } from './body.ts';
import { branchOf } from './fork.ts';
import { innerPath, nodeId } from './names.ts';
import { stamp } from './visit.ts';

const fileChangeSchema = once(() =>
  z.object({
    path: z.string().describe('Relative to the workspace'),
    change: z.enum(['created', 'modified', 'deleted']),
    kind: z.enum(['file', 'link', 'dir']),
    mode: z.int().optional(),
    sha256: textHash().optional(),
    target: z.string().optional(),
  }),
);
export type FileChange = z.infer<ReturnType<typeof fileChangeSchema>>;

export const exchangeSchema = once(() =>
  z.object({
    ...stamp(),
    type: z.literal('Exchange'),
    at: z.string().describe('When the attempt ended, RFC 3339, UTC'),
    node: nodeId(),
    visit: z.int().positive(),
    branch: branchOf().exactOptional(),
    attempt: z.int().positive(),
    call: z.int().positive().describe('Of this node, over all its executions'),
    complete: z.boolean().describe('False for an attempt that was interrupted, which answers no replay'),
    agent: z.object({ name: z.string(), describe: z.string() }),
    attributes: z.record(z.string(), z.string()).describe('Attributes of the node without its prompt'),
    prompt_sha256: textHash(),
    prompt: bodySchema(),
    sent_sha256: textHash()
      .exactOptional()
      .describe('Of the prompt that was sent, if secrets are masked in the recorded one'),
    thread: z
      .enum(['begins', 'continues', 'lost'])
      .exactOptional()
      .describe(
        'What it is to a conversation; lost: it could not be continued, and the prompt has a summary',
      ),
    schema: z.object({ name: z.string(), schema: bodySchema() }).nullable(),
    items: bodySchema().describe('Requests, streamed events and programs, one JSON object per line'),
    items_dropped: z.int().describe('Items left out because of the size limit'),
    report: bodySchema()
      .nullable()
      .describe('What the agent reported, as JSON; null when it reported nothing'),
    artifacts: z.array(z.object({ name: innerPath(), content: bodySchema() })),
    actions: z.array(
      z.object({
        action: z.enum(['command', 'file_change', 'tool_call', 'web_search']),
        detail: z.string(),
        status: z.string(),
      }),
    ),
    hidden: z.object({
      paths: z.array(z.string()),
      made: z.array(z.string()),
      sealed: z.array(z.string()).exactOptional().describe('Holdout paths that the agent wrote to'),
    }),
    files: z
      .object({ before: textHash(), after: textHash(), changes: z.array(fileChangeSchema()) })
      .nullable()
      .describe('Snapshots around the attempt; null if the workspace could not be recorded'),
    usage: usageSchema().nullable(),
    elapsed_ms: z.number(),
    replayed: z.int().nullable().describe('Number of the line of the replayed run that answered'),
  }),
);
export type Exchange = z.infer<ReturnType<typeof exchangeSchema>>;

/** Where and why a replay diverged from the record. */
export const divergenceSchema = once(() =>
  z.object({
    node: z.string(),
    visit: z.int(),
    call: z.int().nullable().describe('Null if it is not about a call'),
    kind: z.enum(['prompt', 'no_record', 'route', 'end_of_record', 'question']),
    why: z.string(),
    recorded_sha256: textHash().nullable(),
    sha256: textHash().nullable(),
    diff: z.string().describe('For a prompt, the first lines that differ'),
  }),
);
export type Divergence = z.infer<ReturnType<typeof divergenceSchema>>;
