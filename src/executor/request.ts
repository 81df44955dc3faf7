/** What `factory order run` was asked for, kept in the run (`inputs/order-run.json`) for its resume. */
import { join } from 'node:path';
import * as z from 'zod';
import { readRecord } from '../builder/record.ts';
import { layout } from '../model/layout.ts';
import { isMissing } from '../system/files.ts';

export const requestFile = 'order-run.json';

export const Request = z.object({
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
  baseline_said: z.string().exactOptional().describe('What --commit-hash named it by'),
  push: z.boolean(),
  artifacts: z.string().describe('The folder of this run in the artifact tree'),
  out_dir: z.string().nullable(),
  planner_ref: z
    .object({
      planner_run_id: z.string(),
      compile_hash: z.string().nullable(),
      manifest_sha256: z.string().nullable(),
    })
    .nullable(),
  model: z.string(),
  temperature: z.number(),
  max_attempts: z.number(),
  timeout_seconds: z.number(),
  batch: z.string().nullable().describe('The folder whose orders are carried out one after the other'),
  started_at: z.string(),
  program: z
    .object({ git_commit: z.string().nullable(), git_dirty: z.boolean().nullable() })
    .default({ git_commit: null, git_dirty: null }),
});
export type Request = z.infer<typeof Request>;

export const readRequest = (runDir: string): Promise<Request> =>
  readRecord(join(layout(runDir).inputs, requestFile), Request);

/** The same; undefined for a run that no order was the beginning of. */
export const findRequest = (runDir: string): Promise<Request | undefined> =>
  readRequest(runDir).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
