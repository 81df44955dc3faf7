/** The templates of a plan's prompts: bundled ones, or files named by the user. */
import { join } from 'node:path';
import { packageRoot } from '../system/package.ts';
import { type CommandPlace, readUserText, type TextProblem, type UserText } from './desk.ts';
import { hasPlaceholder } from './template.ts';

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
