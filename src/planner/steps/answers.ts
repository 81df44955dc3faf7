/** What the steps of a plan answer alike. */
import { countedItems } from '../../core/amounts.ts';
import { no, type StepVerdict } from '../../core/contracts/step.ts';
import type { Json } from '../../core/json.ts';
import { type PlanFinding, toDiagnostic } from '../findings.ts';

/** `doctrine`: the file with the rules for work orders; default the bundled one. */
export type Ruled = { readonly doctrine?: string | undefined };

/** The exit code for wrong texts and flags, and for findings. */
export const textOrFlagsWrong = 2;

/** An invalid text or flag. `before`: what is printed before the reason. */
export const refusedAnswer = (problem: string, before = ''): StepVerdict =>
  no('config', problem, {
    code: textOrFlagsWrong,
    shown: { err: `${before}error: ${problem}\n`, json: { outcome: 'fail', reason: problem } },
  });

const maxNamed = 10;

/** `the plan has 2 errors: E003 (WO-02), E104 (WO-03)` */
export function errorsReason(errors: readonly PlanFinding[]): string {
  const named = errors.slice(0, maxNamed).map(({ code, wo_id, field }) => {
    const where = wo_id || field;
    return where ? `${code} (${where})` : code;
  });
  if (errors.length > maxNamed) named.push(`and ${errors.length - maxNamed} more`);
  return `the plan has ${countedItems(errors.length, 'error')}: ${named.join(', ')}`;
}

export function drawFinding(finding: PlanFinding, as?: 'note'): string {
  const { code, severity, message, fix } = toDiagnostic(finding);
  return `${as ?? severity}[${code}] ${message}\n  = fix: ${fix}\n`;
}

export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
