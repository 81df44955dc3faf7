/** Whether an order may be spared the verification of the whole: by a person's flag, or by a planner's word that can be
 *  checked. */
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { canonicalHash } from '../model/canonical.ts';
import type { Json, JsonObject } from '../model/json.ts';
import { isMissing } from '../system/files.ts';

export type Exemption = { readonly ok: true; readonly note?: string } | { readonly problem: string };

const Word = z.object({
  planner_run_id: z.string().min(1),
  bootstrap: z.literal(true),
  manifest_sha256: z.string().optional(),
});

/** By hand, and where a pipeline builds. */
export const howToAllow = 'pass --allow-verify-exempt (to a pipeline: --var exempt=allow) to allow it';

/** The manifest that a planner writes beside its orders. */
const manifestName = 'WORK_ORDERS_MANIFEST.json';

/** Judges an order that says `verify_exempt`. `path` is the file it was read from: a manifest of the plan, or an order
 *  beside one. The order must stand in that manifest as it is, and the manifest must have the hash that the planner
 *  wrote down. An order that names no hash and has no manifest beside it is taken at its word, with a note. */
export async function judgeExemption(
  raw: JsonObject,
  path: string,
  options: { readonly allowed: boolean },
): Promise<Exemption> {
  if (options.allowed) return { ok: true };
  const word = Word.safeParse(raw['provenance']);
  const id = typeof raw['id'] === 'string' ? raw['id'] : 'the work order';
  const wish = `${id} asks not to be verified (verify_exempt)`;
  if (!word.success)
    return {
      problem: `${wish} without a planner's word for it (provenance with planner_run_id and bootstrap); ${howToAllow}`,
    };
  const manifest = await manifestOf(path);
  if (manifest === undefined) {
    return word.data.manifest_sha256 === undefined
      ? { ok: true, note: `${wish} on its own word: it names no manifest, and there is none beside it` }
      : {
          problem: `${wish}, but there is no ${manifestName} beside it to check the planner's word by; ${howToAllow}`,
        };
  }
  if ('problem' in manifest) return { problem: `${wish}, but ${manifest.problem}; ${howToAllow}` };
  const orders = manifest.orders.map(unsigned);
  const { system_overview = [], verify_contract = null } = manifest.plan;
  const hash = canonicalHash({ system_overview, verify_contract, work_orders: orders });
  if (hash !== word.data.manifest_sha256)
    return {
      problem: `${wish}, but ${manifest.name} is not the one that the planner signed (manifest_sha256); ${howToAllow}`,
    };
  const own = canonicalHash(unsigned(raw));
  if (!orders.some((order) => canonicalHash(order) === own))
    return { problem: `${wish}, but it does not stand in ${manifest.name} as it is here; ${howToAllow}` };
  return { ok: true };
}

function unsigned(order: JsonObject): JsonObject {
  const { provenance: _, ...rest } = order;
  return rest;
}

type Manifest = {
  readonly name: string;
  readonly plan: JsonObject;
  readonly orders: readonly JsonObject[];
};

/** The file itself where it is a manifest, else the one beside it. */
async function manifestOf(path: string): Promise<Manifest | { readonly problem: string } | undefined> {
  const own = await readPlan(path);
  if (own !== undefined && !('problem' in own)) return own;
  return readPlan(join(dirname(path), manifestName));
}

async function readPlan(path: string): Promise<Manifest | { readonly problem: string } | undefined> {
  let plan: Json;
  try {
    plan = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    if (isMissing(error)) return undefined;
    return { problem: `${path} cannot be read as JSON` };
  }
  const list = isObject(plan) ? plan['work_orders'] : undefined;
  if (!isObject(plan) || !Array.isArray(list)) return { problem: `${path} has no list "work_orders"` };
  return { name: basename(path), plan, orders: list.filter(isObject) };
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
