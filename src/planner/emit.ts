/** The work orders of a checked plan for the build, each with its provenance. */
import { createHash } from 'node:crypto';
import { asciiJson, canonicalHash, type JsonObject } from '../core/json.ts';
import { type Plan, type Provenance, verifyScript } from '../core/orders/work-order.ts';
import { contractIsMet } from './check-plan.ts';
import { promisedBy } from './order-view.ts';

export type Emission = {
  /** Each with `verify_exempt` and `provenance`; ids are WO-01, WO-02, ... */
  readonly orders: readonly JsonObject[];
  readonly manifest: JsonObject;
  /** The manifest before provenance is added. */
  readonly normalized: JsonObject;
  readonly manifestSha256: string;
  /** The original ids of orders that were removed because the repository has the verify script already. */
  readonly skipped: readonly string[];
};

/** The name of the file that lists the orders. */
export const manifestFile = 'WORK_ORDERS_MANIFEST.json';

/** The orders of a checked plan in the form for the disk. `manifest_sha256` is the hash of the manifest without
 *  provenance. */
export function emit(
  plan: Plan,
  repoFiles: readonly string[],
  from: { readonly plannerRunId: string; readonly compileHash: string },
): Emission {
  const { orders, skipped } = withoutBootstrap(withExemptions(plan, repoFiles), repoFiles);
  const { system_overview, verify_contract } = plan;
  const normalized = { system_overview, verify_contract, work_orders: orders };
  const manifestSha256 = canonicalHash(normalized);
  const signed = orders.map((order) => {
    const provenance: Provenance = {
      planner_run_id: from.plannerRunId,
      compile_hash: from.compileHash,
      manifest_sha256: manifestSha256,
      bootstrap: order['verify_exempt'] === true,
    };
    return { ...order, provenance };
  });
  return {
    orders: signed,
    manifest: { system_overview, verify_contract, work_orders: signed },
    normalized,
    manifestSha256,
    skipped,
  };
}

/** The file text of a work order or manifest. */
export const fileText = (value: JsonObject): string => `${asciiJson(value, 2)}\n`;

/** Removes the work order that would create the verify script if the repository has one already. */
export type Bootstrapped = {
  /** Renumbered from WO-01 if any was removed. */
  readonly orders: readonly JsonObject[];
  /** The original ids of the removed orders. */
  readonly skipped: readonly string[];
};

/** Removes the orders that create only the verify script if it is in `repoFiles` and an order remains. An order that
 *  creates further files stays. */
function withoutBootstrap(orders: readonly JsonObject[], repoFiles: Iterable<string>): Bootstrapped {
  const isBootstrap = (order: JsonObject) => {
    const paths = promisedBy(order);
    return paths.length > 0 && paths.every((path) => path === verifyScript);
  };
  const kept = orders.filter((order) => !isBootstrap(order));
  if (kept.length === orders.length || kept.length === 0 || !new Set(repoFiles).has(verifyScript)) {
    return { orders, skipped: [] };
  }
  return {
    orders: kept.map((order, i) => ({ ...order, id: `WO-${String(i + 1).padStart(2, '0')}` })),
    skipped: orders.filter(isBootstrap).map((order) => String(order['id'])),
  };
}

/* Work orders that are verified without the whole contract because it cannot be met yet. */

/** The orders of `plan` with a computed `verify_exempt`, which replaces the model's value. */
export function withExemptions(plan: Plan, repoFiles: Iterable<string>): readonly JsonObject[] {
  const contract = plan.verify_contract;
  const state = new Set(repoFiles);
  return plan.work_orders.map((order) => {
    for (const path of promisedBy(order)) state.add(path);
    return { ...order, verify_exempt: contract !== null && !contractIsMet(contract, state) };
  });
}

/* The hashes that identify plans and work orders. */

/** Identifies the inputs of a plan: the first 16 hex digits of the SHA-256 of spec, template, model and reasoning effort,
 *  joined by line feeds. */
export function compileHash(from: {
  spec: Uint8Array;
  template: Uint8Array;
  model: string;
  effort: string;
}): string {
  const hash = createHash('sha256').update(from.spec).update('\n').update(from.template);
  return hash.update(`\n${from.model}\n${from.effort}`).digest('hex').slice(0, 16);
}
