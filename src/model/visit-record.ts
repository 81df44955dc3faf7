/** `visits.jsonl`: what every finished visit changed, a line each, so that the checkpoint need not repeat what stands
 *  here. Folded from the first line on, it gives the state of the run after any visit. */
import * as z from 'zod';
import { Alike } from './attribution.ts';
import { LastFailure } from './checkpoint.ts';
import type { Json } from './json.ts';
import type { Outcome } from './outcome.ts';
import { fileName, innerPath, nodeId } from './safe-names.ts';
import type { Usage } from './spent.ts';

const json: z.ZodType<Json> = z.json() as z.ZodType<Json>;
const context = z.record(z.string(), json);
const origins = z.record(z.string(), z.enum(['engine', 'agent', 'tool'])).describe('Who set a context key');
const snapshot = fileName.describe('Name of a snapshot of the workspace');
/** What every line of a journal has. */
const stamp = { schema_version: z.literal(1), run_id: z.string(), seq: z.int(), epoch: z.int() };

/** A program that a stage has run to its end. */
export const RanCommand = z.object({
  argv: z.array(z.string()).describe('Secrets masked, long words cut'),
  exit_code: z.int().nullable().describe('Null where it did not end by itself'),
  stdout: z.string().describe('Names of the artifacts that hold what it printed'),
  stderr: z.string(),
});
export type RanCommand = z.infer<typeof RanCommand>;

/** The first line: where the run began. */
export const StartRecord = z.object({
  ...stamp,
  type: z.literal('Start'),
  at: z.string(),
  next_node: nodeId,
  context,
  origins,
  snapshot,
});
export type StartRecord = z.infer<typeof StartRecord>;

/** A visit that was carried to its end, whatever its outcome. */
export const VisitRecord = z.object({
  ...stamp,
  type: z.literal('Visit'),
  at: z.string(),
  node: nodeId,
  node_type: z.string(),
  visit: z.int().positive(),
  before: snapshot.describe('Before its first attempt'),
  after: snapshot.describe('As it left the workspace, what was put back included'),
  outcome: z.custom<Outcome>((v) => typeof v === 'object' && v !== null && 'status' in v),
  retries: z.int().min(0).describe('Of this node, over all its visits so far'),
  calls: z.int().min(0).describe('Agent calls of this node, over all its visits so far'),
  context: z.object({ set: context, unset: z.array(z.string()) }).describe('What the visit changed'),
  origins: z.object({ set: origins }),
  last_failure: LastFailure.nullable().optional().describe('Absent where it is as before'),
  alike: Alike.nullable()
    .exactOptional()
    .describe('Failures of this node that repeat; null where they end, absent where they are as before'),
  next_node: nodeId.nullable(),
  arrived: z.object({ from: z.string(), conditional: z.boolean() }).nullable(),
  steps: z.int(),
  elapsed_ms: z.number(),
  commands: z
    .array(RanCommand)
    .exactOptional()
    .describe('Programs of its last attempt, in order, the first 100 of them; absent where it ran none'),
  artifacts: z
    .record(innerPath, fileName)
    .exactOptional()
    .describe('SHA-256 of the files that it left in its folder, by path there'),
  artifacts_more: z.int().exactOptional().describe('Files there beyond those'),
  asked_sha256: z
    .string()
    .exactOptional()
    .describe('Of a tool or a check: SHA-256 of its attributes and of the variables that they name'),
  replayed: z
    .int()
    .exactOptional()
    .describe('Number of the record of the followed run that answered in place of the stage'),
  usage: z
    .custom<Usage>((v) => typeof v === 'object' && v !== null)
    .exactOptional()
    .describe('Of all calls of an agent that it made; absent where none told any'),
  took_ms: z.number().exactOptional().describe('Milliseconds of this visit'),
});
export type VisitRecord = z.infer<typeof VisitRecord>;

export const RunRecord = z.discriminatedUnion('type', [StartRecord, VisitRecord]);
export type RunRecord = z.infer<typeof RunRecord>;
