/** Leaves out the work order that would make the verify script where the repository has one already. */
import type { JsonObject } from '../model/json.ts';
import { verifyScript } from '../model/work-order.ts';
import { promisedBy } from './view.ts';

export type Bootstrapped = {
  /** Renumbered from WO-01 when any was left out. */
  readonly orders: readonly JsonObject[];
  /** The ids, as planned, of the orders left out. */
  readonly skipped: readonly string[];
};

/** Drops the orders that promise the verify script and nothing else, when it is among `repoFiles` and an order
 *  remains. An order that promises further files stays: dropping it would lose those. */
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
