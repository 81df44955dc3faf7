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
  [/\.[cm]?jsx?$/, 'javascript'],
  [/\.[cm]?ts$/, 'typescript'],
  [/\.tsx$/, 'tsx'],
  [/\.pyw?$/, 'python'],
  [/\.go$/, 'go'],
  [/\.rs$/, 'rust'],
  [/\.java$/, 'java'],
  [/\.(?:ba)?sh$/, 'bash'],
];

const byInterpreter: readonly (readonly [RegExp, MutantLanguage])[] = [
  [/^#!.*\bnode\b/, 'javascript'],
  [/^#!.*\bpython[\d.]*\b/, 'python'],
  [/^#!.*\b(?:ba|da)?sh\b/, 'bash'],
];

/** The language of a file by its name; of one without an ending by the interpreter that its text begins with. */
export function mutantLanguage(path: string, text = ''): MutantLanguage | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const [table, subject] = name.includes('.')
    ? [byEnding, name]
    : [byInterpreter, text.split('\n', 1)[0] ?? ''];
  return table.find(([form]) => form.test(subject))?.[1];
}
