/** The parts of a verification command, which runs without a shell: assignments, then a program and its arguments. */
import { splitWords, wordFrom } from './words.ts';

export type CommandParts = {
  readonly assignments: readonly (readonly [name: string, value: string])[];
  readonly words: [string, ...string[]];
};

/** Characters of the longest command: its rules are applied to every nested text. */
export const longestCommand = 16 * 1024;

/** Splits a command into the assignments before its program and its words; wrapping parentheses are dropped. */
export function takeApart(command: string): CommandParts | { readonly problem: string } {
  if (command.length > longestCommand)
    return { problem: `it is longer than ${longestCommand} characters: put it into a script` };
  if (command.includes('\0')) return { problem: 'it contains a NUL' };
  const assignments: [string, string][] = [];
  for (let text = withoutParentheses(command.trim()); ; ) {
    const first = wordFrom(text, 0);
    if (first !== undefined && 'problem' in first) return cannotSplit(first.problem);
    const [, name, value] = /^([A-Za-z_]\w*)=([\s\S]*[^=])$/.exec(first?.text ?? '') ?? [];
    // In quotes it is not a name.
    const isAssignment =
      first !== undefined && name !== undefined && text.startsWith(`${name}=`, first.start);
    if (!isAssignment) {
      const split = splitWords(text);
      if ('problem' in split) return cannotSplit(split.problem);
      const [program, ...rest] = split.words;
      if (program === undefined || program === '') return { problem: 'it names no program' };
      return { assignments, words: [program, ...rest] };
    }
    assignments.push([name, value ?? '']);
    text = withoutParentheses(text.slice(first.end).trim());
  }
}

const cannotSplit = (why: string) => ({ problem: `it cannot be split into words, ${why}` });

/** `((a b))` → `a b`, where the first parenthesis is closed by the last: not `(a) (b)`. */
function withoutParentheses(text: string): string {
  let inner = text;
  // Deeper ones are refused as part of the program's name.
  for (let layer = 0; layer < 8 && isWrapped(inner); layer++) inner = inner.slice(1, -1).trim();
  return inner;
}

function isWrapped(text: string): boolean {
  if (!text.startsWith('(') || !text.endsWith(')')) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return at === text.length - 1;
  }
  return false;
}
