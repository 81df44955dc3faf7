/** Removes the work order that would create the verify script if the repository has one already. */
import type { JsonObject } from '../model/json.ts';
import { verifyScript } from '../model/work-order.ts';
import { promisedBy } from './view.ts';

export type Bootstrapped = {
  /** Renumbered from WO-01 if any was removed. */
  readonly orders: readonly JsonObject[];
  /** The original ids of the removed orders. */
  readonly skipped: readonly string[];
};

/** Removes the orders that create only the verify script if it is in `repoFiles` and an order remains. An order that
 *  creates further files stays. */
export function withoutBootstrap(orders: readonly JsonObject[], repoFiles: Iterable<string>): Bootstrapped {
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
