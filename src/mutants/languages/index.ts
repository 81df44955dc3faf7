/** The languages whose programs can be mutated, with how their files are recognized. */
import type { LanguageTable } from '../rules.ts';
import { bash } from './bash.ts';
import { goTable } from './go.ts';
import { java } from './java.ts';
import { javascript, tsx, typescript } from './javascript.ts';
import { python } from './python.ts';
import { rust } from './rust.ts';

export const languageTables = {
  javascript,
  typescript,
  tsx,
  python,
  go: goTable,
  rust,
  java,
  bash,
} satisfies Record<string, LanguageTable>;

export type MutantLanguage = keyof typeof languageTables;

const byEnding: readonly (readonly [RegExp, MutantLanguage])[] = [
  [/\.[cm]?jsx?$/i, 'javascript'],
  [/\.[cm]?ts$/i, 'typescript'],
  [/\.tsx$/i, 'tsx'],
  [/\.pyw?$/i, 'python'],
  [/\.go$/i, 'go'],
  [/\.rs$/i, 'rust'],
  [/\.java$/i, 'java'],
  [/\.(?:ba)?sh$/i, 'bash'],
];

const byInterpreter: readonly (readonly [RegExp, MutantLanguage])[] = [
  [/^#!.*\bnode\b/, 'javascript'],
  [/^#!.*\b(?:deno|bun|tsx|ts-node)\b/, 'typescript'],
  [/^#!.*\bpython[\d.]*\b/, 'python'],
  [/^#!.*\buv run\b/, 'python'],
  [/^#!.*\b(?:ba|da)?sh\b/, 'bash'],
];

/** The language of a file by the ending of its name, otherwise by the interpreter that its text begins with. */
export function mutantLanguage(path: string, text = ''): MutantLanguage | undefined {
  const [first = ''] = text.split('\n', 1);
  const known =
    byEnding.find(([form]) => form.test(path)) ?? byInterpreter.find(([form]) => form.test(first));
  return known?.[1];
}
