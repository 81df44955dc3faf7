/** `{{NAME}}` placeholders, filled once. */

/** Replaces every `{{NAME}}` that `values` has; other braces stay. Single pass: a placeholder inside a value is
 *  never expanded. */
export const fill = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{\{([A-Z_]+)\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? '') : whole,
  );

export const hasPlaceholder = (template: string, name: string): boolean => template.includes(`{{${name}}}`);

/** Most file names that are put into a prompt. */
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

/** The prompt that asks for a plan. `{{DOCTRINE}}` and `{{REPO_HINTS}}` of older templates are left empty. */
export const planPromptText = (template: string, spec: string, files: readonly string[]): string =>
  fill(template, { PRODUCT_SPEC: spec, REPO_FILES: listFiles(files), DOCTRINE: '', REPO_HINTS: '' });
