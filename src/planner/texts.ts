/** The templates of a plan's prompts: bundled ones, or files named by the user. */
import { join } from 'node:path';
import { packageRoot } from '../system/package.ts';
import { readUserText, type TextProblem, type UserText } from './desk.ts';
import { hasPlaceholder } from './template.ts';

/** The path of a bundled prompt. */
export const bundled = (name: string): string => join(packageRoot(), 'prompts', name);

/** The rules for work orders, which both prompts include. */
export const readDoctrine = (cwd: string, path = bundled('doctrine.md')): Promise<UserText | TextProblem> =>
  readUserText(cwd, path, 'doctrine');

/** The prompt that asks for a revision; it has a place for the findings. */
export async function readRevisionTemplate(
  cwd: string,
  path = bundled('revise.md'),
): Promise<UserText | TextProblem> {
  const template = await readUserText(cwd, path, 'template');
  if ('problem' in template || hasPlaceholder(template.text, 'FINDINGS')) return template;
  return {
    wrong: 'text',
    problem: `the template ${path} has no {{FINDINGS}}: put it where the findings belong`,
  };
}
