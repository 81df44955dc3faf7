/** The prompt that asks a model to fix its plan. */
import { fixFor, isError, type PlanFinding } from './finding.ts';
import { basisValues, fill, type PlanBasis } from './template.ts';

/** A stored finding; its code may be unknown to this version. */
export type EarlierFinding = Omit<PlanFinding, 'code'> & { readonly code: string };

export type Revision = {
  /** Repeated: a model that receives only its mistakes forgets the rules. */
  readonly basis: PlanBasis;
  /** The first prompt, for templates that include it. */
  readonly originalPrompt: string;
  readonly previousAnswer: string;
  /** Errors and warnings. */
  readonly findings: readonly PlanFinding[];
  /** The findings of earlier answers, first to last. */
  readonly earlier: readonly (readonly EarlierFinding[])[];
};

/** Longest previous answer, in UTF-16 units, that is quoted in full. */
const maxQuoted = 400_000;

/** Fills `template`; inserted values are never expanded again. */
export const revisionPrompt = (template: string, revision: Revision): string =>
  fill(template, {
    ...basisValues(revision.basis),
    ORIGINAL_PROMPT: revision.originalPrompt,
    FINDINGS: listed(revision.findings),
    PREVIOUS_ANSWER: quoted(revision.previousAnswer),
    SAME_AGAIN: sameAgain(revision),
  });

/** A hint for a model that repeats itself; empty if no earlier answer had the same findings. */
function sameAgain({ findings, earlier }: Revision): string {
  const at = earlier.findLastIndex((of) => isSame(findings, of));
  if (at < 0) return '';
  const before = earlier.length - at;
  return before === 1
    ? 'These are the same findings as for the answer before: the last change did not touch their cause. Read each ' +
        'finding again and fix it in another way.'
    : `These are the same findings as for your answer ${before} answers ago: you are going in a circle, and what ` +
        'fixes one finding brings back another. Find a plan that avoids all of them at once.';
}

/** Whether two answers have the same findings, in any order. */
export function isSame(findings: readonly EarlierFinding[], earlier: readonly EarlierFinding[]): boolean {
  const key = (list: readonly EarlierFinding[]) =>
    JSON.stringify(
      list.map(({ code, wo_id, field, message }) => JSON.stringify([code, wo_id, field, message])).sort(),
    );
  return earlier.length > 0 && key(findings) === key(earlier);
}

/** Most findings that a prompt lists. */
const maxListed = 1000;

function listed(findings: readonly PlanFinding[]): string {
  const lines = findings.slice(0, maxListed).map(line);
  if (findings.length > maxListed) lines.push(`- and ${findings.length - maxListed} more findings`);
  return lines.join('\n');
}

const line = (finding: PlanFinding): string => {
  const where = finding.wo_id || 'the plan';
  const field = finding.field ? ` (${finding.field})` : '';
  const kind = isError(finding) ? '' : 'warning: ';
  return `- [${finding.code}] ${where}: ${kind}${finding.message}${field}\n  ${fixFor(finding.code)}`;
};

const quoted = (answer: string): string =>
  answer.length <= maxQuoted
    ? answer
    : `${answer.slice(0, maxQuoted)}\n[cut here: the answer had ${answer.length} characters]`;
