/** What somebody asked of a compilation: kept with the run, so that a resume ends it as the first process would have. */
import * as z from 'zod';

const source = z.object({ path: z.string().describe('Absolute'), sha256: z.string() });

export const PlanRequest = z.lazy(() =>
  z.object({
    schema_version: z.literal(1),
    artifacts: z.string().describe('Absolute folder that the records of this compilation go to'),
    outdir: z.string().nullable().describe('Absolute folder that the work orders are exported to'),
    overwrite: z.boolean(),
    spec: source,
    template: source,
    repo: z.string().nullable(),
    model: z.string(),
    effort: z.string(),
    max_attempts: z.int().positive(),
    compile_hash: z.string(),
    started_at: z.string(),
    version: z.object({ git_commit: z.string().nullable(), git_dirty: z.boolean().nullable() }),
  }),
);
export type PlanRequest = z.infer<typeof PlanRequest>;

/** Its name in the `inputs/` of the run. */
export const planRequestFile = 'plan-request.json';
