/** Checks the work orders together: files that an order needs must exist before it. */
import { isObject, type Json } from '../core/json.ts';
import { normalizePath, type VerifyContract, verifyScript } from '../core/orders/work-order.ts';
import type { PythonPrograms } from '../platform/python.ts';
import { jsonKind } from './check-order.ts';
import { type FindingCode, findingOf, type PlanFinding } from './findings.ts';
import { ordinaryModules } from './javascript.ts';
import { isList, type OrderView, promised } from './order-view.ts';

/** Findings across the orders. `repoFiles`: the files that exist before the first order. */
export function checkPlanChain(
  orders: readonly OrderView[],
  contract: Json | undefined,
  repoFiles: Iterable<string>,
  python: PythonPrograms,
): PlanFinding[] {
  const state = new Set(repoFiles);
  const findings: PlanFinding[] = [];
  for (const order of orders) {
    findings.push(...checkLink(order, state, python));
    for (const path of promised(order)) state.add(path);
  }
  return [...findings, ...checkContract(contract, state)];
}

function checkLink(order: OrderView, state: ReadonlySet<string>, programs: PythonPrograms): PlanFinding[] {
  const wo_id = order.id ?? '?';
  const found = findingOf(wo_id);
  const there = (path: Json | undefined) => typeof path === 'string' && state.has(path);
  const findings: PlanFinding[] = [];

  for (const { text, words } of order.commands) {
    if (words === undefined || !isVerifyCommand(words)) continue;
    findings.push(
      found('E105', 'acceptance_commands', `${JSON.stringify(text)} is the global verify command`),
    );
  }
  for (const path of contradictions(order)) {
    findings.push(found('E102', 'preconditions', `${path} is required both to exist and to be absent`));
  }
  for (const { kind, path } of order.preconditions) {
    if (kind === 'file_exists' && !there(path)) {
      findings.push(
        found('E101', 'preconditions', `${show(path)} must exist, but nothing before this step provides it`),
      );
    } else if (kind === 'file_absent' && there(path)) {
      findings.push(found('E101', 'preconditions', `${show(path)} must be absent, but it exists by then`));
    }
  }
  if (order.postconditions.length > 0) findings.push(...checkScope(order, found));

  const reachable = new Set([...state, ...promised(order)]);
  const imports = order.commands.flatMap(({ python }) => {
    const program = python === undefined ? undefined : programs.get(python);
    return program?.kind === 'valid' ? program.imports : [];
  });
  for (const module of imports) {
    if (isPythonModule(module, reachable)) continue;
    const base = module.replaceAll('.', '/');
    findings.push(
      found(
        'W101',
        'acceptance_commands',
        `imports ${module}, but no ${base}.py or ${base}/__init__.py is there by then`,
      ),
    );
  }
  return findings;
}

/** Postconditions outside the scope, then allowed files without a postcondition. */
function checkScope(
  order: OrderView,
  found: (code: FindingCode, field: string, message: string) => PlanFinding,
): PlanFinding[] {
  const allowed = new Set<Json | undefined>(order.allowed);
  const named = new Set(order.postconditions.map(({ path }) => path));
  return [
    ...order.postconditions
      .filter(({ path }) => !allowed.has(path))
      .map(({ path }) =>
        found('E103', 'postconditions', `${show(path)} is promised but not in allowed_files`),
      ),
    ...order.allowed
      .filter((path) => !named.has(path))
      .map((path) =>
        found('E104', 'allowed_files', `${path} may be written but no postcondition promises it`),
      ),
  ];
}

function contradictions(order: OrderView): string[] {
  const ofKind = (orderKind: string) =>
    new Set(
      order.preconditions.flatMap(({ kind, path }) =>
        kind === orderKind && path !== undefined ? [show(path)] : [],
      ),
    );
  const absent = ofKind('file_absent');
  return [...ofKind('file_exists')].filter((path) => absent.has(path)).sort();
}

/** Whether a Python program can import `name`: it is a common module, or one of `files`. */
export function isPythonModule(name: string, files: ReadonlySet<string>): boolean {
  if (ordinaryModules.has(name.split('.')[0] ?? '')) return true;
  const base = name.replaceAll('.', '/');
  return files.has(`${base}.py`) || files.has(`${base}/__init__.py`);
}

/** Whether a command is the global verify command. */
export const isVerifyCommand = ([program, script, ...more]: readonly string[]): boolean =>
  program === 'bash' && script !== undefined && normalizePath(script) === verifyScript && more.length === 0;

function checkContract(contract: Json | undefined, state: ReadonlySet<string>): PlanFinding[] {
  const found = (code: FindingCode, message: string): PlanFinding => ({
    code,
    wo_id: null,
    field: 'verify_contract',
    message,
  });
  if (contract === undefined || contract === null) return [];
  if (!isObject(contract)) return [found('E000', `verify_contract is ${jsonKind(contract)}, not an object`)];
  const requires = contract['requires'];
  if (requires === undefined) return [];
  if (!isList(requires))
    return [found('E000', `verify_contract.requires is ${jsonKind(requires)}, not a list`)];
  return requires.flatMap((requirement, i) => {
    if (!isObject(requirement))
      return [found('E000', `verify_contract.requires[${i}] is ${jsonKind(requirement)}, not an object`)];
    const { kind, path = '' } = requirement;
    if (kind !== 'file_exists' || (typeof path === 'string' && state.has(path))) return [];
    return [
      found('E106', `${show(path)} is required, but neither the repository nor any work order provides it`),
    ];
  });
}

/** True if every file that the contract requires is in `files`; other kinds of requirements are ignored. */
export const contractIsMet = (contract: VerifyContract, files: ReadonlySet<string>): boolean =>
  (contract.requires ?? []).every(({ kind, path = '' }) => kind !== 'file_exists' || files.has(String(path)));

const show = (path: Json | undefined): string =>
  typeof path === 'string' && path !== '' ? path : (JSON.stringify(path) ?? 'no path');
