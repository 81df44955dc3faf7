/** What carries a run's verdict, in `result.json`. Fields are only ever added. */
import * as z from 'zod';
import { Mark } from './mark.ts';
import { outcomeWords } from './outcome.ts';

const hash = z.string().describe('SHA-256, hex');
const hashes = z.record(z.string(), hash);

export const EvidenceCommand = z.object({
  node: z.string(),
  visit: z.int().positive().describe('The latest of the node'),
  outcome: z.enum(outcomeWords).describe('Of that visit'),
  what: z.enum(['tool', 'verification', 'scenario', 'proof']),
  command: z.string().describe('As a shell would read it; secrets masked'),
  exit_code: z.int().nullable().describe('Null where it did not end by itself'),
  stdout_sha256: hash.nullable(),
  stderr_sha256: hash.nullable(),
});
export type EvidenceCommand = z.infer<typeof EvidenceCommand>;

export const Evidence = z.object({
  commands: z
    .array(EvidenceCommand)
    .describe(
      'Of a failed run those of stages that failed; else of the latest visit of every tool and check',
    ),
  more_commands: z.int().nonnegative().describe('Beyond those that are listed'),
  inputs: z.object({
    pipeline: hash,
    variables: hashes.describe('Of file variables the text, of others the value'),
    prompts: hashes,
    schemas: hashes,
    scenarios: z.object({ sha256: hash, files: z.int() }).nullable().describe('Null where nothing is sealed'),
    agent_script: hash.nullable(),
    prices: hash.nullable(),
  }),
  judged: z
    .object({ passed: z.int().nonnegative(), total: z.int().nonnegative() })
    .exactOptional()
    .describe('Scenarios that `factory scenario` has tried last, where a tool has said so'),
  base_commit: z.string().nullable(),
  commits: z.array(z.object({ work_order: z.string(), commit: z.string(), tree: z.string().nullable() })),
  snapshot: z.string().nullable().describe('The workspace after the last stage'),
  chain: hash.describe('Of all visits, and by them of their artifacts'),
  journals: z.record(z.string(), Mark).describe('By path in the run directory'),
  factory_version: z.string(),
});
export type Evidence = z.infer<typeof Evidence>;
