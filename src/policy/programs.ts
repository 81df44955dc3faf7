/** What the words of a command mean to the program that gets them: which is the program, which argument is a
 *  pattern, which is a command line or a program text of its own. */
import { basename } from 'node:path/posix';
import { shellKeywords } from './shell.ts';

/** Programs that start another one. `values` are the one-letter options that take a word, `long` the other ones;
 *  `operands` how many words of their own come before the program. */
type Wrapper = { readonly values: string; readonly long: readonly string[]; readonly operands: number };
const wrapper = (values = '', long: readonly string[] = [], operands = 0): Wrapper => ({
  values,
  long,
  operands,
});
const env = wrapper('aPuCS', ['argv0', 'unset', 'chdir', 'split-string']);
const declarations = ['export', 'readonly', 'declare', 'typeset', 'local'];
const wrappers: ReadonlyMap<string, Wrapper> = new Map([
  ['command', wrapper()],
  ['builtin', wrapper()],
  ['exec', wrapper('a')],
  ['env', env],
  ['nohup', wrapper()],
  ['setsid', wrapper()],
  ['time', wrapper('fo', ['format', 'output'])],
  ['nice', wrapper('n', ['adjustment'])],
  ['stdbuf', wrapper('ioe', ['input', 'output', 'error'])],
  ['timeout', wrapper('ks', ['kill-after', 'signal'], 1)],
  [
    'xargs',
    wrapper('aEdILnPs', ['arg-file', 'delimiter', 'max-args', 'max-chars', 'max-procs', 'process-slot-var']),
  ],
  [
    'sudo',
    wrapper('CDRTUghprtu', ['chdir', 'chroot', 'group', 'host', 'other-user', 'prompt', 'role', 'user']),
  ],
]);

const assignment = /^([A-Za-z_]\w*)\+?=/;

/** The variable that a word assigns when it stands before a program; undefined when it is no assignment. */
export const assignedName = (word: string): string | undefined => assignment.exec(word)?.[1];

export type Invocation = {
  /** Where the program stands among the words; their number when there is none. */
  readonly at: number;
  /** Its name without folders. */
  readonly program: string;
  /** Names of the variables set for it, or by it. */
  readonly assigned: readonly string[];
};

/** Looks past keywords, assignments and programs such as `env` for the program that a command is about. */
export function invocation(words: readonly string[]): Invocation {
  const assigned: string[] = [];
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    const name = assignedName(word);
    const wrap = wrappers.get(basename(word));
    if (name !== undefined) assigned.push(name);
    else if (declarations.includes(word)) {
      assigned.push(...words.slice(at).flatMap((declared) => assignedName(declared) ?? []));
      break;
    } else if (wrap !== undefined) at = afterOptions(words, at + 1, wrap) + wrap.operands - 1;
    else if (!shellKeywords.includes(word)) break;
  }
  return { at: Math.min(at, words.length), program: basename(words[at] ?? ''), assigned };
}

function afterOptions(words: readonly string[], from: number, { values, long }: Wrapper): number {
  let at = from;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') return at + 1;
    if (!word.startsWith('-')) break;
    const letter = [...word.slice(1)].findIndex((char) => values.includes(char));
    if (word.startsWith('--') ? long.includes(word.slice(2)) : letter >= 0 && letter === word.length - 2)
      at++;
  }
  return at;
}

/** How a program that takes a pattern reads its options. Letters and long names: `pattern` is followed by a pattern
 *  and `file` by a file of them, after either there is no pattern among the operands; `also` is followed by a pattern
 *  and changes nothing; `values` by something else; `glued` takes the rest of its word. */
type Matcher = {
  readonly pattern: readonly string[];
  readonly file: readonly string[];
  readonly also?: string;
  readonly values: string;
  readonly glued?: string;
  /** Long options that take words of their own, and how many. */
  readonly long: ReadonlyMap<string, number>;
};
const taking = (count: number, ...names: readonly string[]) => names.map((name) => [name, count] as const);

const grep: Matcher = {
  pattern: ['e', 'regexp'],
  file: ['f', 'file'],
  values: 'ABCDdm',
  long: new Map(
    taking(
      1,
      ...['max-count', 'after-context', 'before-context', 'context', 'include', 'exclude', 'exclude-dir'],
      ...['exclude-from', 'label', 'binary-files', 'devices', 'directories'],
    ),
  ),
};
/** `-O/bin/x` names a pager. */
const gitGrep: Matcher = { ...grep, glued: 'O' };
const rg: Matcher = {
  pattern: ['e', 'regexp'],
  // With --files every operand is a path.
  file: ['f', 'file', 'files', 'type-list'],
  values: 'ABCEMTdgjmrt',
  long: new Map(
    taking(
      1,
      ...[
        'glob',
        'iglob',
        'type',
        'type-not',
        'type-add',
        'replace',
        'max-count',
        'max-columns',
        'max-depth',
      ],
      ...[
        'after-context',
        'before-context',
        'context',
        'encoding',
        'threads',
        'sort',
        'sortr',
        'color',
        'colors',
      ],
      ...['engine', 'ignore-file', 'max-filesize', 'pre', 'pre-glob', 'path-separator'],
    ),
  ),
};
const sed: Matcher = {
  pattern: ['e', 'expression'],
  file: ['f', 'file'],
  values: 'l',
  glued: 'i',
  long: new Map(taking(1, 'line-length')),
};
const awk: Matcher = {
  pattern: ['e', 'source'],
  file: ['f', 'E', 'file', 'exec'],
  also: 'F',
  values: 'vi',
  long: new Map(taking(1, 'assign', 'include', 'field-separator')),
};
const jq: Matcher = {
  pattern: [],
  file: ['f', 'from-file'],
  values: 'L',
  long: new Map([
    ...taking(1, 'indent', 'library-path'),
    ...taking(2, 'arg', 'argjson', 'slurpfile', 'rawfile'),
  ]),
};
const matchers: ReadonlyMap<string, Matcher> = new Map([
  ...['grep', 'egrep', 'fgrep', 'zgrep'].map((name) => [name, grep] as const),
  ['git grep', gitGrep],
  ...['awk', 'gawk', 'mawk', 'nawk'].map((name) => [name, awk] as const),
  ...['sed', 'gsed'].map((name) => [name, sed] as const),
  ['rg', rg],
  ['jq', jq],
]);

/** Which words are patterns (of grep, sed, awk, rg, jq), alone or glued to their option. An option that is not known
 *  counts as one without a value, so that no file is taken for a pattern. */
export function patternWords(words: readonly string[]): ReadonlySet<number> {
  const { at, program } = invocation(words);
  const found = new Set<number>();
  const isGitGrep = program === 'git' && words[at + 1] === 'grep';
  const start = isGitGrep ? at + 1 : at;
  const matcher = matchers.get(isGitGrep ? 'git grep' : program);
  if (matcher === undefined) return found;
  const givers = [...matcher.pattern, ...matcher.file].filter((name) => name.length > 1);
  let operand: number | undefined;
  let isGiven = false;
  for (let at = start + 1; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--') {
      operand ??= at + 1;
      break;
    }
    if (word.startsWith('--')) {
      const [name = '', value] = word.slice(2).split('=', 2);
      const after = value === undefined ? 1 : 0;
      // Long names may be cut short: whatever may mean "the pattern is here" makes the operands files.
      if (!matcher.long.has(name) && givers.some((giver) => giver.startsWith(name))) isGiven = true;
      if (matcher.pattern.includes(name)) found.add(at + after);
      const takes =
        matcher.pattern.includes(name) || matcher.file.includes(name) ? 1 : (matcher.long.get(name) ?? 0);
      at += takes * after;
    } else if (word.startsWith('-') && word.length > 1) {
      const letters = [...word.slice(1)];
      const eats = (letter: string) =>
        matcher.pattern.includes(letter) ||
        matcher.file.includes(letter) ||
        `${matcher.values}${matcher.also ?? ''}${matcher.glued ?? ''}`.includes(letter);
      const index = letters.findIndex(eats);
      const letter = letters[index];
      if (letter === undefined || letter === matcher.glued) continue;
      const value = index === letters.length - 1 ? at + 1 : at;
      if (matcher.pattern.includes(letter) || letter === matcher.also) found.add(value);
      if (matcher.pattern.includes(letter) || matcher.file.includes(letter)) isGiven = true;
      at = value;
    } else {
      operand ??= at;
    }
  }
  if (!isGiven && operand !== undefined) found.add(operand);
  return withinReach(found, words);
}

const shells = [
  ...['sh', 'bash', 'dash', 'ash', 'zsh', 'ksh', 'mksh', 'rbash', 'fish'],
  ...['$SHELL', '${SHELL}', '$BASH', '${BASH}'],
];
const isShell = (word: string): boolean => shells.includes(basename(word));

/** True when a shell is among the words: what the command reads may then be commands. */
export const startsShell = (words: readonly string[]): boolean => words.some(isShell);

/** True when the command is a shell that was given no text and no file, so that it runs what it reads. */
export function readsCommands(words: readonly string[]): boolean {
  const { at } = invocation(words);
  // `command -v sh` only asks where it is.
  if (!isShell(words[at] ?? '') || /^-p?[vV]$/.test(words[at - 1] ?? '')) return false;
  const options = words.slice(at + 1);
  if (options.some((word) => /^-[A-Za-z]*s$/.test(word))) return true;
  return afterShellOptions(words, at + 1).at >= words.length;
}

/** What a command that prints its words prints: of `echo` and `printf`. */
export function printed(words: readonly string[]): string[] {
  const { at, program } = invocation(words);
  if (program !== 'echo' && program !== 'printf') return [];
  const texts = words.slice(at + 1).filter((word) => !/^-[A-Za-z]+$/.test(word));
  return [...texts, texts.join(' ')].map((text) => text.replaceAll('\\n', '\n'));
}

/** Programs with an option after which comes a command line for a shell, and that option. */
const lineOptions: ReadonlyMap<string, RegExp> = new Map([
  ...['su', 'runuser', 'script', 'flock'].map(
    (name) => [name, /^(?:-[A-Za-z]*c|--command(?:=([\s\S]*))?)$/] as const,
  ),
  ...['npm', 'npx'].map((name) => [name, /^(?:-c|--call(?:=([\s\S]*))?)$/] as const),
]);

/** The command lines that a command carries in its words: after `sh -c`, `eval`, `trap`, `env -S`. A shell is looked
 *  for anywhere, because `find -exec`, `xargs` and many others start one. */
export function nestedCommandLines(words: readonly string[]): string[] {
  const lines: string[] = [];
  for (const [at, word] of words.entries()) {
    if (isShell(word)) {
      const script = shellScript(words, at + 1);
      if (script !== undefined) lines.push(script);
    } else if (basename(word) === 'env') {
      lines.push(...splitStrings(words.slice(at + 1, afterOptions(words, at + 1, env))));
    }
  }
  const { at, program } = invocation(words);
  const rest = words.slice(at + 1);
  const option = lineOptions.get(program);
  if (option !== undefined)
    for (const [place, word] of rest.entries()) {
      const found = option.exec(word);
      if (found !== null) lines.push(found[1] ?? rest[place + 1] ?? '');
    }
  if (program === 'eval') lines.push(rest.join(' '));
  if (program === 'trap') lines.push(rest.find((word) => !word.startsWith('-')) ?? '');
  return lines;
}

/** The text after `-c` among a shell's arguments. */
function shellScript(words: readonly string[], from: number): string | undefined {
  const { at, hasScript } = afterShellOptions(words, from);
  return hasScript ? words[at] : undefined;
}

/** Where a shell's operands begin, and whether the first of them is its program's text. */
function afterShellOptions(words: readonly string[], from: number): { at: number; hasScript: boolean } {
  let hasScript = false;
  let at = from;
  for (; at < words.length; at++) {
    const word = words[at] ?? '';
    if (word === '--' || word === '-') return { at: at + 1, hasScript };
    if (word === '--rcfile' || word === '--init-file') at++;
    else if (/^[-+]./.test(word)) {
      if (word.startsWith('--')) continue;
      if (word.startsWith('-') && word.includes('c')) hasScript = true;
      // `-o pipefail`: the name is a word of its own.
      at += word.slice(1).replace(/[^oO]/g, '').length;
    } else break;
  }
  return { at, hasScript };
}

function splitStrings(words: readonly string[]): string[] {
  return words.flatMap((word, at) => {
    const glued = /^(?:-[a-zA-Z]*?S|--split-string=)([\s\S]+)$/.exec(word)?.[1];
    if (glued !== undefined) return [glued];
    return /^(?:-[a-zA-Z]*S|--split-string)$/.test(word) ? [words[at + 1] ?? ''] : [];
  });
}

/** Interpreters and the letters after which their program's text comes. */
const interpreters: ReadonlyMap<string, string> = new Map([
  ...['node', 'nodejs', 'bun', 'tsx', 'deno'].map((name) => [name, 'ep'] as const),
  ...['perl', 'ruby', 'lua', 'R', 'Rscript', 'julia'].map((name) => [name, 'eE'] as const),
  ['php', 'r'],
  ...shells.map((name) => [name, 'c'] as const),
]);
const lettersOf = (word: string): string | undefined =>
  /^(?:python|pypy)[\d.]*$/.test(basename(word)) ? 'c' : interpreters.get(basename(word));

/** Which words are the text of a program that an interpreter runs: after `-c`, `-e`, `--eval`, `-p`. */
export function programTexts(words: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  let letters: string | undefined;
  for (const [at, word] of words.entries()) {
    letters = lettersOf(word) ?? letters;
    if (letters === undefined) continue;
    const isShort = /^-[A-Za-z]+$/.test(word) && letters.includes(word.slice(-1));
    if (isShort || word === '--eval' || word === '--print') found.add(at + 1);
    if (word.startsWith('--eval=') || word.startsWith('--print=')) found.add(at);
  }
  return withinReach(found, words);
}

/** An option at the end has no word after it. */
const withinReach = (found: ReadonlySet<number>, words: readonly string[]): ReadonlySet<number> =>
  new Set([...found].filter((at) => at < words.length));
