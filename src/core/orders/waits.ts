/** Which orders of a plan wait for which, so that several can be asked for at once. An order waits for an earlier one that
 *  may change its prompt: the files that it shows, its preconditions, or how the project is verified. */
import { folded } from '../records/names.ts';
import { notesOf } from './notes.ts';
import { decidesVerification, type VerifyFacts, verifyFactsOf, verifyPartsOf } from './verify-deciders.ts';
import type { WorkOrder } from './work-order.ts';

/** What of an order matters for that. */
export type OrderPaths = Pick<
  WorkOrder,
  'id' | 'allowed_files' | 'context_files' | 'preconditions' | 'notes' | 'verify_exempt'
>;

/** The orders that are not done and wait for no order that is not done, in the plan's order. The first of those that are not
 *  done is always among them. `decides`: whether a file of this path may change how the project is verified
 *  (`decidesVerification`). */
export function readyOrders<Order extends OrderPaths>(
  orders: readonly Order[],
  done: ReadonlySet<string>,
  decides: (path: string) => boolean,
): readonly Order[] {
  const open = orders
    .filter(({ id }) => !done.has(id))
    .map((order) => ({ order, reach: reachOf(order, decides) }));
  return open
    .filter(({ reach }, at) => !open.slice(0, at).some((earlier) => mayChangePrompt(earlier.reach, reach)))
    .map(({ order }) => order);
}

/** The orders of a plan by when they can be asked for. They are built in the plan's order; one whose turn comes before it was
 *  asked for is asked for together with all that wait for no order that is not done by then: a level. `facts`: how the
 *  project is verified before the first order. Each order is assumed to write all that it may. */
export function orderLevels(
  orders: readonly OrderPaths[],
  facts: VerifyFacts,
): readonly (readonly string[])[] {
  const levels: (readonly string[])[] = [];
  const asked = new Set<string>();
  const done = new Set<string>();
  const parts = new Set(facts.parts);
  let now = facts;
  for (const { id, allowed_files } of orders) {
    if (!asked.has(id)) {
      const ready = readyOrders(orders, done, decidesVerification(now)).map((order) => order.id);
      const level = ready.filter((one) => !asked.has(one));
      for (const one of level) asked.add(one);
      levels.push(level);
    }
    done.add(id);
    for (const part of allowed_files.flatMap(verifyPartsOf)) parts.add(part);
    now = verifyFactsOf(parts);
  }
  return levels;
}

/** What an order may change and what its prompt is made from; equal paths have equal spellings. */
type Reach = {
  readonly writes: readonly string[];
  readonly reads: readonly string[];
  readonly movesVerification: boolean;
  readonly saysVerification: boolean;
};

const reachOf = (order: OrderPaths, decides: (path: string) => boolean): Reach => ({
  writes: order.allowed_files.map(folded),
  reads: [...order.allowed_files, ...order.context_files, ...order.preconditions.map(({ path }) => path)].map(
    folded,
  ),
  // The commands of before no longer count after an order that may change checks.
  movesVerification: notesOf(order).mayChangeChecks || order.allowed_files.some(decides),
  // The prompt of an exempt order does not say how the project is verified.
  saysVerification: !order.verify_exempt,
});

const mayChangePrompt = (earlier: Reach, order: Reach): boolean =>
  (earlier.movesVerification && order.saysVerification) ||
  earlier.writes.some((path) => order.reads.some((read) => meet(path, read)));

/** Whether two paths are the same, or one is a folder that holds the other. */
const meet = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
