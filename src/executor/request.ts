/** The request of `factory order run`, stored in the run (`inputs/order-run.json`) for a resume. */

import { join } from 'node:path';
import * as z from 'zod';
import { readRecord } from '../builder/record.ts';
import { layout } from '../model/layout.ts';
import { once } from '../model/once.ts';
import { isMissing } from '../system/files.ts';

export const requestFile = 'order-run.json';

const hash = once(() => z.string().min(1).nullable().catch(null));

/** The plan that an order comes from, as its `provenance` says. */
export const plannerReferenceSchema = once(() =>
  z.object({
    planner_run_id: z.string().min(1),
    compile_hash: hash(),
    manifest_sha256: hash(),
  }),
);

export const orderRequestSchema = once(() =>
  z.object({
    version: z.literal(1),
    run_id: z.string(),
    repo: z.string().describe('Top of the working tree, by its real path'),
    work_order_path: z.string(),
    work_order_sha256: z.string().describe('Of the bytes of that file'),
    work_order_id: z.string(),
    digest: z.string(),
    branch: z.string(),
    branch_mode: z.enum(['explicit', 'auto']),
    branch_existed: z.boolean(),
    starting_branch: z.string(),
    baseline: z.string(),
    baseline_source: z.enum(['HEAD', 'commit-hash']),
    baseline_requested: z.string(),
    push: z.boolean(),
    artifacts: z.string().describe('Directory of this run in the artifact tree'),
    out_dir: z.string().nullable(),
    planner_ref: plannerReferenceSchema().nullable(),
    model: z.string(),
    temperature: z.number(),
    max_attempts: z.number(),
    timeout_seconds: z.number(),
    batch: z.string().nullable().describe('Directory or plan of a batch'),
    started_at: z.string(),
    program: z
      .object({ git_commit: z.string().nullable(), git_dirty: z.boolean().nullable() })
      .default({ git_commit: null, git_dirty: null }),
  }),
);
export type OrderRequest = z.infer<ReturnType<typeof orderRequestSchema>>;

export const readRequest = (runDir: string): Promise<OrderRequest> =>
  readRecord(join(layout(runDir).inputs, requestFile), orderRequestSchema());

/** The same; undefined for a run that `factory order run` did not start. */
export const findRequest = (runDir: string): Promise<OrderRequest | undefined> =>
  readRequest(runDir).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
