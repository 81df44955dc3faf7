/** The request of `factory order run`, stored in the run (`order-run.json`) for a resume. */
import { readFile, stat } from 'node:fs/promises';
import * as z from 'zod';
import { errorText } from '../../core/diagnostic.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import { sha256 } from '../../core/sha256.ts';
import { BadJsonRecord } from '../../platform/files/json-record.ts';
import { isCode, readFailure } from '../../platform/files/write.ts';
import { checkOrder, type LoadedOrder } from '../../run/orders.ts';
import { readStoredJson } from '../../run/runs.ts';
import { type OrderRefusal, refusedOrder } from './types.ts';

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

const orderRequestSchema = once(() =>
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

/** The request of a run; undefined for a run that `factory order run` did not start. */
export const findRequest = (runDir: string): Promise<OrderRequest | undefined> =>
  readStoredJson(runDir, requestFile, orderRequestSchema());

export async function readRequest(runDir: string): Promise<OrderRequest> {
  const request = await findRequest(runDir);
  if (request === undefined) throw new BadJsonRecord(`${runDir} has no request of \`factory order run\``);
  return request;
}

/* Work orders as files. */

/** A work order that was read from a file. */
export type OrderSource = {
  readonly path: string;
  readonly sha256: string;
  readonly raw: JsonObject;
  readonly loaded: LoadedOrder;
};

/** Bytes. */
const limit = 10_485_760;

/** The work order of a file. A pipe can be read, unless it was `listed` in a directory. */
export async function readSource(path: string, listed?: 'listed'): Promise<OrderSource | OrderRefusal> {
  let bytes: Buffer;
  let raw: unknown;
  try {
    if (listed === 'listed' && !(await stat(path)).isFile())
      return refusedOrder(1, `the work order ${path} is not a file`, 'name a work order, a JSON file');
    bytes = await readFile(path);
    if (bytes.length > limit) return refusedOrder(1, `${path} is larger than 10 MiB`);
    raw = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    return refusedOrder(
      1,
      `the work order ${path} cannot be read: ${isSystems(error) ? readFailure(error) : errorText(error)}`,
      'name a work order, a JSON file',
    );
  }
  if (!isObject(raw)) return refusedOrder(1, `${path} is not a work order: it is not a JSON object`);
  if ('work_orders' in raw)
    return refusedOrder(1, `${path} is a plan`, 'name a work order, or a directory of them to order run-all');
  // Whether an order may be exempt is decided before its run.
  const loaded = checkOrder({ from: path, value: raw, alone: true }, { allowExempt: true });
  if ('problem' in loaded) return refusedOrder(1, loaded.problem);
  return { path, sha256: sha256(bytes), raw, loaded };
}

const isSystems = (error: unknown): boolean =>
  isCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'EPERM');
