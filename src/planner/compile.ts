/** From a model's answer to a checked plan, or to everything that is wrong with it. */
import type { Json } from '../model/json.ts';
import { extractJson } from '../model/json-text.ts';
import type { Plan, VerifyContract } from '../model/work-order.ts';
import { checkChain } from './chain.ts';
import { checkOrders, kindOf } from './check.ts';
import { isError, type PlanFinding } from './finding.ts';
import { isObject } from './normalize.ts';

export type Checked = {
  /** Present exactly when no finding is an error. */
  readonly plan?: Plan;
  /** Errors about orders alone, errors across orders, warnings. */
  readonly findings: readonly PlanFinding[];
  /** The answer was not JSON, or too large to be read. */
  readonly parseError: boolean;
};

/** Checks a model's answer as a plan for a repository with these files (slash paths relative to it). Never throws,
 *  whatever the answer. */
export function checkPlan(answer: string, { repoFiles }: { readonly repoFiles: readonly string[] }): Checked {
  const extracted = extractJson(answer);
  if ('problem' in extracted) {
    const message = `JSON parse error: ${extracted.problem}`;
    return { findings: [{ code: 'E000', wo_id: null, field: null, message }], parseError: true };
  }
  return checkValue(extracted.value, repoFiles);
}

function checkValue(value: Json, repoFiles: readonly string[]): Checked {
  if (!isObject(value)) {
    const message = `the answer is ${kindOf(value)}, not an object with the key work_orders`;
    return { findings: [{ code: 'E000', wo_id: null, field: null, message }], parseError: false };
  }
  const { orders, findings: alone } = checkOrders(value);
  const findings = [...alone, ...checkChain(orders, value['verify_contract'], repoFiles)];
  if (findings.some(isError)) return { findings, parseError: false };
  const plan: Plan = {
    system_overview: value['system_overview'] ?? (Object.hasOwn(value, 'system_overview') ? null : []),
    // checkChain has found the contract to be null or an object whose requires, if any, are objects.
    verify_contract: (value['verify_contract'] ?? null) as VerifyContract | null,
    work_orders: orders.map((order) => order.raw),
  };
  return { plan, findings, parseError: false };
}
