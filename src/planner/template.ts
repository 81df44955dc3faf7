/** `{{NAME}}` placeholders, filled once. */

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
export type PlanBasis = {
  readonly spec: string;
  readonly files: readonly string[];
  /** The rules for work orders, which the bundled templates include. */
  readonly doctrine: string;
};

/** The values that the prompts for a plan and for a revision share. */
export const basisValues = ({ spec, files, doctrine }: PlanBasis) => ({
  PRODUCT_SPEC: spec,
  REPO_FILES: listFiles(files),
  [rules]: doctrine.trimEnd(),
});

/** The prompt that asks for a plan. `{{DOCTRINE}}` and `{{REPO_HINTS}}` of older templates become empty. */
export const planPromptText = (template: string, basis: PlanBasis): string =>
  fill(template, { ...basisValues(basis), DOCTRINE: '', REPO_HINTS: '' });
