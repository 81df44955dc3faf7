/** The work orders of a checked plan for the build, each with its provenance. */
import type { JsonObject } from '../model/json.ts';
import type { Plan, Provenance } from '../model/work-order.ts';
import { withoutBootstrap } from './bootstrap.ts';
import { withExemptions } from './exempt.ts';
import { asciiJson, canonicalHash } from './hash.ts';

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
