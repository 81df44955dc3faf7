/** From a model's answer to a checked plan, or to everything that is wrong with it. */
import type { Json } from '../model/json.ts';
import { extractJson } from '../model/json-text.ts';
import type { Plan, VerifyContract } from '../model/work-order.ts';
import { checkChain } from './chain.ts';
import { checkOrders, kindOf } from './check.ts';
import { checkCommands } from './commands.ts';
import { isError, isStrictOnly, type PlanFinding } from './finding.ts';
import { isObject } from './normalize.ts';

export type Checked = {
  /** Present exactly when no finding is an error. */
  readonly plan?: Plan;
  /** Errors about orders alone, errors across orders, errors in what commands run; then warnings, likewise. */
  readonly findings: readonly PlanFinding[];
  /** What `strict` would have found besides. */
  readonly notes: readonly PlanFinding[];
  /** The answer was not JSON, or too large to be read. */
  readonly parseError: boolean;
};

export type Surroundings = {
  /** The repository's files, as slash paths relative to it. */
  readonly repoFiles: readonly string[];
  /** Also refuse what would mean something else to a shell or be refused when the plan is carried out, and warn of
   *  what that suggests. Without it those findings are `notes`, and the plan is as valid as it would be without
   *  these rules. */
  readonly strict?: boolean | undefined;
};

/** Checks a model's answer as a plan. Never throws, whatever the answer. */
export function checkPlan(answer: string, surroundings: Surroundings): Checked {
  const extracted = extractJson(answer);
  return 'problem' in extracted ? unreadable(extracted.problem) : checkValue(extracted.value, surroundings);
}

/** What is found of an answer that is no JSON for this reason, which begins in lower case. */
export const unreadable = (problem: string): Checked => ({
  findings: [{ code: 'E000', wo_id: null, field: null, message: `JSON parse error: ${problem}` }],
  notes: [],
  parseError: true,
});

function checkValue(value: Json, { repoFiles, strict = false }: Surroundings): Checked {
  if (!isObject(value)) {
    const message = `the answer is ${kindOf(value)}, not an object with the key work_orders`;
    return { findings: [{ code: 'E000', wo_id: null, field: null, message }], notes: [], parseError: false };
  }
  const { orders, python, findings: alone } = checkOrders(value);
  const chained = checkChain(orders, value['verify_contract'], repoFiles, python);
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
