/** Work orders that are verified without the whole contract because it cannot be met yet. */
import type { JsonObject } from '../model/json.ts';
import type { Plan } from '../model/work-order.ts';
import { contractIsMet } from './chain.ts';
import { promisedBy } from './view.ts';

/** The orders of `plan` with a computed `verify_exempt`, which replaces the model's value. */
export function withExemptions(plan: Plan, repoFiles: Iterable<string>): readonly JsonObject[] {
  const contract = plan.verify_contract;
  const state = new Set(repoFiles);
  return plan.work_orders.map((order) => {
    for (const path of promisedBy(order)) state.add(path);
    return { ...order, verify_exempt: contract !== null && !contractIsMet(contract, state) };
  });
}
