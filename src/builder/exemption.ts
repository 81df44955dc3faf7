/** Decides whether an order may skip the verification of the whole project: by the user's flag, or by a planner's
 *  declaration that can be checked. */

import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { canonicalHash } from '../model/canonical.ts';
import type { Json, JsonObject } from '../model/json.ts';
import { once } from '../model/once.ts';
import { isMissing } from '../system/files.ts';

export type Exemption = { readonly ok: true; readonly note?: string } | { readonly problem: string };

const declarationSchema = once(() =>
  z.object({
    planner_run_id: z.string().min(1),
    bootstrap: z.literal(true),
    manifest_sha256: z.string().optional(),
  }),
);

export const howToAllow = 'pass --allow-verify-exempt (to a pipeline: --var exempt=allow) to allow it';

/** The manifest that a planner writes next to its orders. */
const manifestName = 'WORK_ORDERS_MANIFEST.json';

/** Decides about an order with `verify_exempt`. `path` is the file it was read from: a manifest of the plan, or an order
 *  next to one. The manifest must contain the order unchanged, and must have the hash that the planner recorded. An order
 *  that names no hash and has no manifest next to it is accepted, with a note. */
export async function judgeExemption(
  raw: JsonObject,
  path: string,
  options: { readonly allowed: boolean },
): Promise<Exemption> {
  if (options.allowed) return { ok: true };
  const declared = declarationSchema().safeParse(raw['provenance']);
  const id = typeof raw['id'] === 'string' ? raw['id'] : 'the work order';
  const request = `${id} asks not to be verified (verify_exempt)`;
  if (!declared.success)
    return {
      problem: `${request} without a planner's declaration (provenance with planner_run_id and bootstrap); ${howToAllow}`,
    };
  const manifest = await manifestOf(path);
  if (manifest === undefined) {
    return declared.data.manifest_sha256 === undefined
      ? {
          ok: true,
          note: `${request}; this cannot be checked: it names no manifest, and there is none next to it`,
        }
      : {
          problem: `${request}, but there is no ${manifestName} next to it to check the planner's declaration; ${howToAllow}`,
        };
  }
  if ('problem' in manifest) return { problem: `${request}, but ${manifest.problem}; ${howToAllow}` };
  const orders = manifest.orders.map(unsigned);
  const { system_overview = [], verify_contract = null } = manifest.plan;
  const hash = canonicalHash({ system_overview, verify_contract, work_orders: orders });
  if (hash !== declared.data.manifest_sha256)
    return {
      problem: `${request}, but ${manifest.name} is not the one that the planner signed (manifest_sha256); ${howToAllow}`,
    };
  const own = canonicalHash(unsigned(raw));
  if (!orders.some((order) => canonicalHash(order) === own))
    return { problem: `${request}, but ${manifest.name} does not contain it unchanged; ${howToAllow}` };
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

/** The manifest at `path`; if that is an order, the manifest next to it. */
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
