/** What the words of a command mean to its program: which word is the program, which a pattern, which a program's
 *  text. */
import { basename } from 'node:path/posix';

const keywords: ReadonlySet<string> = new Set('if then elif else while until do ! { time'.split(' '));
/** Programs that start the program named in their arguments. */
const wrappers: ReadonlySet<string> = new Set(
  'command builtin exec env nohup setsid nice stdbuf timeout xargs sudo'.split(' '),
);
/** Options of wrappers that are followed by a word which is not a number. */
const wrapperValue = /^-[uCkIgd]$|^--(?:unset|chdir|signal|kill-after|user|group|delimiter)$/;
const declarations: ReadonlySet<string> = new Set('export readonly declare typeset local'.split(' '));

/** The name that a word assigns when it precedes a program; undefined when it is no assignment. */
export const assignedName = (word: string): string | undefined => /^([A-Za-z_]\w*)\+?=/.exec(word)?.[1];

type Invocation = {
  /** The program's index among the words; their number when there is none. */
  readonly at: number;
  /** Its name without folders. */
  readonly program: string;
  /** Names of the variables set for it, or by it. */
  readonly assigned: readonly string[];
};

/** Skips keywords, assignments and programs such as `env` to find the program that a command runs. */
export function invocation(words: readonly string[]): Invocation {
  const assigned: string[] = [];
  let isWrapped = false;
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    const name = assignedName(word);
    if (name !== undefined) assigned.push(name);
    else if (wrappers.has(basename(word))) isWrapped = true;
    else if (isWrapped && wrapperValue.test(word)) at++;
    else if (!keywords.has(word) && !(isWrapped && /^(?:-.*|[\d.]+[smhd]?)$/.test(word))) break;
  }
  const program = basename(words[at] ?? '');
  if (declarations.has(program))
    assigned.push(...words.slice(at + 1).flatMap((word) => assignedName(word) ?? []));
  return { at: Math.min(at, words.length), program, assigned };
}

/** What follows an option of a program that takes a pattern: the pattern, so that no operand is one; `instead`: a
 *  file of patterns, or nothing, and no operand is a pattern; a text that may begin with a slash; one other word;
 *  two. */
type OptionKind = 'pattern' | 'instead' | 'text' | 'value' | 'values';
type Options = ReadonlyMap<string, OptionKind>;
const options = (kinds: Partial<Record<OptionKind, string>>): Options =>
  new Map(
    Object.entries(kinds).flatMap(([kind, names]) =>
      names.split(' ').map((name) => [name, kind as OptionKind] as const),
    ),
  );

const grep = options({
  pattern: 'e regexp',
  instead: 'f file',
  value:
    'A B C D d m after-context before-context context max-count include exclude exclude-dir exclude-from label binary-files',
});
const sed = options({ pattern: 'e expression', instead: 'f file', value: 'l line-length' });
const awk = options({
  pattern: 'e source',
  instead: 'f file E exec',
  text: 'F field-separator',
  value: 'v assign i include',
});
const rg = options({
  pattern: 'e regexp',
  instead: 'f file files type-list',
  value:
    'A B C E M T d g j m r t after-context before-context context max-count max-depth glob iglob type type-not replace sort threads',
});
const jq = options({
  instead: 'f from-file',
  value: 'L library-path indent',
  values: 'arg argjson slurpfile rawfile',
});
const matchers: ReadonlyMap<string, Options> = new Map([
  ...['grep', 'egrep', 'fgrep', 'zgrep'].map((name) => [name, grep] as const),
  ...['awk', 'gawk', 'mawk', 'nawk'].map((name) => [name, awk] as const),
  ...['sed', 'gsed'].map((name) => [name, sed] as const),
  ['rg', rg],
  ['jq', jq],
]);

/** Which words are patterns (of grep, sed, awk, rg, jq), alone or joined with their option. */
export function patternWords(words: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  const { at, program } = invocation(words);
  const isGitGrep = program === 'git' && words[at + 1] === 'grep';
  const known = isGitGrep ? grep : matchers.get(program);
  if (known === undefined) return found;
  let operand: number | undefined;
  let isGiven = false;
  for (let i = at + (isGitGrep ? 2 : 1); i < words.length; i++) {
    const word = words[i] ?? '';
    if (word === '--') {
      operand ??= i + 1;
      break;
    }
    if (!/^-./.test(word)) {
      operand ??= i;
      continue;
    }
    const { kind, isGlued } = optionOf(word, known);
    const value = isGlued ? i : i + 1;
    if (kind === 'pattern' || kind === 'text') found.add(value);
    if (kind === 'pattern' || kind === 'instead') isGiven = true;
    if (kind !== undefined) i = kind === 'values' ? value + 1 : value;
  }
  if (!isGiven && operand !== undefined) found.add(operand);
  // Nothing follows an option at the end.
  found.delete(words.length);
  return found;
}

function optionOf(word: string, known: Options): { kind: OptionKind | undefined; isGlued: boolean } {
  if (word.startsWith('--')) {
    const [name = '', value] = word.slice(2).split('=', 2);
    return { kind: known.get(name), isGlued: value !== undefined };
  }
  const letters = /^-([A-Za-z]*)/.exec(word)?.[1] ?? '';
  const letter = [...letters].find((one) => known.has(one)) ?? '';
  return { kind: known.get(letter), isGlued: word.indexOf(letter) < word.length - 1 };
}

type Language = 'shell' | 'python' | 'javascript' | 'other';
type ProgramText = { readonly at: number; readonly text: string; readonly language: Language };

/** Interpreters, their language, and the options that a program's text follows. */
const interpreters: readonly (readonly [name: RegExp, language: Language, option: RegExp])[] = [
  [/^(?:(?:r?ba|da|a|z|k|mk|fi)?sh|\$(?:SHELL|BASH))$/, 'shell', /^-[A-Za-z]*c[A-Za-z]*$/],
  [/^(?:python|pypy)[\d.]*$/, 'python', /^-[A-Za-z]*c$/],
  [/^(?:node|nodejs)$/, 'javascript', /^-(?:e|p|pe)$|^--(?:eval|print)(?:=|$)/],
  [/^(?:bun|deno|tsx|perl|ruby|lua|php|R|Rscript|julia)$/, 'other', /^-[A-Za-z]*[eEpr]$|^--eval(?:=|$)/],
];

/** The program texts among the words: after `sh -c`, `python -c`, `node -e` and the like. Shells are searched for
 *  at any position, because `find -exec` and many others start one. */
export function programTexts(words: readonly string[]): readonly ProgramText[] {
  const program = invocation(words).at;
  return words.flatMap((word, from) => {
    const interpreter = interpreters.find(([name]) => name.test(basename(word)));
    if (interpreter === undefined) return [];
    const [, language, option] = interpreter;
    if (language !== 'shell' && from !== program) return [];
    const at = language === 'shell' ? scriptAt(words, from + 1, option) : textAt(words, from + 1, option);
    const text = words[at];
    if (text === undefined) return [];
    return [{ at, language, text: /^--\w+=/.test(text) ? text.slice(text.indexOf('=') + 1) : text }];
  });
}

/** The index of the text, after the last such option before the operands or joined with it; -1 where there is none. */
function textAt(words: readonly string[], from: number, option: RegExp): number {
  const operand = words.findIndex((word, at) => at >= from && !/^-./.test(word));
  const leading = words.slice(from, operand < 0 ? words.length : operand);
  const found = leading.findLastIndex((word) => option.test(word));
  if (found < 0) return -1;
  return leading[found]?.includes('=') === true ? from + found : from + found + 1;
}

/** The same for a shell, whose `-c` may be anywhere among its options. */
function scriptAt(words: readonly string[], from: number, option: RegExp): number {
  let isText = false;
  for (let at = from; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') return isText ? at + 1 : -1;
    if (!/^[-+]./.test(word)) return isText ? at : -1;
    if (option.test(word)) isText = true;
    // `-o pipefail`: the name is a separate word.
    if (/^[-+][A-Za-z]*[oO]$/.test(word)) at++;
  }
  return -1;
}
