/** Turns a model's answer into a checked plan or findings. */
import { extractJson } from '../core/answer-json.ts';
import { isObject, type Json } from '../core/json.ts';
import type { Plan, VerifyContract } from '../core/orders/work-order.ts';
import { checkCommands } from './check-commands.ts';
import { checkOrders, jsonKind } from './check-order.ts';
import { checkPlanChain } from './check-plan.ts';
import { isError, isStrictOnly, type PlanFinding } from './findings.ts';

export type Checked = {
  /** Present if and only if no finding is an error. */
  readonly plan?: Plan;
  /** Errors about orders alone, errors across orders, errors in what commands run; then warnings, likewise. */
  readonly findings: readonly PlanFinding[];
  /** The additional findings of `strict`. */
  readonly notes: readonly PlanFinding[];
  /** The answer was not JSON, or too large. */
  readonly parseError: boolean;
};

export type Surroundings = {
  /** The repository's files, as slash paths relative to it. */
  readonly repoFiles: readonly string[];
  /** Also refuse commands that have another meaning in a shell or that a guardrail would refuse, and warn about similar
   *  ones. Without it these findings are `notes`, which do not make the plan invalid. */
  readonly strict?: boolean | undefined;
};

/** Checks a model's answer as a plan. Never throws, whatever the answer. */
export function checkPlan(answer: string, surroundings: Surroundings): Checked {
  const extracted = extractJson(answer);
  return 'problem' in extracted
    ? unreadablePlan(extracted.problem)
    : checkValue(extracted.value, surroundings);
}

/** The finding for an answer that is not JSON; the reason begins in lower case. */
export const unreadablePlan = (problem: string): Checked => ({
  findings: [{ code: 'E000', wo_id: null, field: null, message: `JSON parse error: ${problem}` }],
  notes: [],
  parseError: true,
});

function checkValue(value: Json, { repoFiles, strict = false }: Surroundings): Checked {
  if (!isObject(value)) {
    const message = `the answer is ${jsonKind(value)}, not an object with the key work_orders`;
    return { findings: [{ code: 'E000', wo_id: null, field: null, message }], notes: [], parseError: false };
  }
  const { orders, python, findings: alone } = checkOrders(value);
  const chained = checkPlanChain(orders, value['verify_contract'], repoFiles, python);
  const ran = checkCommands(orders, repoFiles, python);
  const all = [...alone, ...chained, ...(strict ? ran : ran.filter((finding) => !isStrictOnly(finding)))];
  const findings = [...all.filter(isError), ...all.filter((finding) => !isError(finding))];
  const notes = strict ? [] : ran.filter(isStrictOnly);
  if (findings.some(isError)) return { findings, notes, parseError: false };
  const plan: Plan = {
    system_overview: value['system_overview'] ?? (Object.hasOwn(value, 'system_overview') ? null : []),
    // checkChain has found the contract to be null or an object whose requires, if any, are objects.
    verify_contract: (value['verify_contract'] ?? null) as VerifyContract | null,
    work_orders: orders.map((order) => order.raw),
  };
  return { plan, findings, notes, parseError: false };
}
