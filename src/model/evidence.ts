/** The evidence for a run's result, in `result.json`. Fields are only ever added. */

import * as z from 'zod';
import { markSchema } from './mark.ts';
import { once } from './once.ts';
import { outcomeWords } from './outcome.ts';

const hash = once(() => z.string().describe('SHA-256, hex'));
const hashes = once(() => z.record(z.string(), hash()));

export const evidenceCommandSchema = once(() =>
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

export const evidenceSchema = once(() =>
  z.object({
    commands: z
      .array(evidenceCommandSchema())
      .describe(
        'In a failed run, commands of nodes that failed; else of the latest execution of every tool and verification',
      ),
    more_commands: z.int().nonnegative().describe('Commands that are not listed'),
    inputs: z.object({
      pipeline: hash(),
      variables: hashes().describe('Hashes of the text of file variables and of the value of others'),
      prompts: hashes(),
      schemas: hashes(),
      scenarios: z.object({ sha256: hash(), files: z.int() }).nullable().describe('Null without a holdout'),
      agent_script: hash().nullable(),
      prices: hash().nullable(),
    }),
    judged: z
      .object({ passed: z.int().nonnegative(), total: z.int().nonnegative() })
      .exactOptional()
      .describe('Scenarios of the latest `factory scenario`, if a tool reported them'),
    unchecked_orders: z
      .array(z.string())
      .exactOptional()
      .describe('Work orders whose only acceptance command is `true`'),
    base_commit: z.string().nullable(),
    commits: z.array(z.object({ work_order: z.string(), commit: z.string(), tree: z.string().nullable() })),
    snapshot: z.string().nullable().describe('The workspace after the last node'),
    chain: hash().describe('Of all executions and so of their artifacts'),
    journals: z.record(z.string(), markSchema()).describe('By path in the run directory'),
    factory_version: z.string(),
  }),
);
export type Evidence = z.infer<ReturnType<typeof evidenceSchema>>;
