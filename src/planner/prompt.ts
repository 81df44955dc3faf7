/** `{{NAME}}` placeholders, filled once. */
import { join } from 'node:path';
import { packageRoot } from '../platform/package.ts';
import { type CommandPlace, readUserText, type TextProblem, type UserText } from './files.ts';
import { fixFor, isError, type PlanFinding } from './findings.ts';

/** Replaces every `{{NAME}}` that `values` has; other braces stay. Single pass: placeholders inside values are not
 *  expanded. */
export const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{\{([A-Z_]+)\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : whole,
  );

export const hasPlaceholder = (template: string, name: string): boolean => template.includes(`{{${name}}}`);

/** The most file names listed in a prompt. */
const maxListed = 2000;

/** The files that exist, as a list for a prompt. Names that would break a line are quoted as JSON. */
export function listFiles(files: readonly string[]): string {
  if (files.length === 0) return '(none: the repository is empty)';
  const lines = files
    .slice(0, maxListed)
    .map((file) => `- ${/[\u0000-\u001f\u007f]/.test(file) ? JSON.stringify(file) : file}`);
  if (files.length > maxListed) lines.push(`- and ${files.length - maxListed} further`);
  return lines.join('\n');
}

/** A template's bytes with the rules for work orders inserted, for the compile hash; unchanged if it has no place for the
 *  rules. */
export const withDoctrine = (
  template: { readonly text: string; readonly bytes: Buffer },
  doctrine: string,
): Buffer =>
  hasPlaceholder(template.text, rules)
    ? Buffer.from(fill(template.text, { [rules]: doctrine.trimEnd() }))
    : template.bytes;

const rules = 'WORK_ORDER_RULES';

/** The inputs of a plan. */
type PlanBasis = {
  readonly spec: string;
  readonly files: readonly string[];
  /** The rules for work orders, which the bundled templates include. */
  readonly doctrine: string;
};

/** The values that the prompts for a plan and for a revision share. */
const basisValues = ({ spec, files, doctrine }: PlanBasis) => ({
  PRODUCT_SPEC: spec,
  REPO_FILES: listFiles(files),
  [rules]: doctrine.trimEnd(),
});

/** The prompt that asks for a plan. `{{DOCTRINE}}` and `{{REPO_HINTS}}` of older templates become empty. */
export const planPromptText = (template: string, basis: PlanBasis): string =>
  fill(template, { ...basisValues(basis), DOCTRINE: '', REPO_HINTS: '' });

/* The templates of a plan's prompts: bundled ones, or files named by the user. */

/** The path of a bundled prompt. */
export const bundled = (name: string): string => join(packageRoot(), 'prompts', name);

/** The rules for work orders, which both prompts include. */
export const readDoctrine = (
  io: CommandPlace,
  path = bundled('doctrine.md'),
): Promise<UserText | TextProblem> => readUserText(io, path, 'doctrine');

/** The prompt that asks for a revision; it has a place for the findings. */
export async function readRevisionTemplate(
  io: CommandPlace,
  path = bundled('revise.md'),
): Promise<UserText | TextProblem> {
  const template = await readUserText(io, path, 'template');
  if ('problem' in template || hasPlaceholder(template.text, 'FINDINGS')) return template;
  return {
    wrong: 'text',
    problem: `the template ${path} has no {{FINDINGS}}: put it where the findings belong`,
  };
}

/* The prompt that asks a model to fix its plan. */

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
  const at = earlier.findLastIndex((of) => sameFindings(findings, of));
  if (at < 0) return '';
  const before = earlier.length - at;
  return before === 1
    ? 'These are the same findings as for the answer before: the last change did not touch their cause. Read each ' +
        'finding again and fix it in another way.'
    : `These are the same findings as for your answer ${before} answers ago: you are going in a circle, and what ` +
        'fixes one finding brings back another. Find a plan that avoids all of them at once.';
}

/** Whether two answers have the same findings, in any order. */
export function sameFindings(
  findings: readonly EarlierFinding[],
  earlier: readonly EarlierFinding[],
): boolean {
  const key = (list: readonly EarlierFinding[]) =>
    JSON.stringify(
      list.map(({ code, wo_id, field, message }) => JSON.stringify([code, wo_id, field, message])).sort(),
    );
  return earlier.length > 0 && key(findings) === key(earlier);
}

/** Most findings that a prompt lists. */
const maxListedFindings = 1000;

function listed(findings: readonly PlanFinding[]): string {
  const lines = findings.slice(0, maxListedFindings).map(line);
  if (findings.length > maxListedFindings)
    lines.push(`- and ${findings.length - maxListedFindings} more findings`);
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
