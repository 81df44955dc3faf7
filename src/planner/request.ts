/** The request of a compilation, stored with the run for a resume. */

import * as z from 'zod';
import { once } from '../model/once.ts';

const source = once(() => z.object({ path: z.string().describe('Absolute'), sha256: z.string() }));

export const planRequestSchema = once(() =>
  z.object({
    schema_version: z.literal(1),
    artifacts: z.string().describe('Absolute root of the artifacts'),
    outdir: z.string().nullable().describe('Absolute directory of the export'),
    overwrite: z.boolean(),
    spec: source(),
    template: source(),
    repo: z.string().nullable(),
    model: z.string(),
    effort: z.string(),
    max_attempts: z.int().positive(),
    compile_hash: z.string(),
    started_at: z.string(),
    version: z.object({ git_commit: z.string().nullable(), git_dirty: z.boolean().nullable() }),
  }),
);
export type PlanRequest = z.infer<ReturnType<typeof planRequestSchema>>;

/** The name of the file in `inputs/` of the run. */
export const planRequestFile = 'plan-request.json';
