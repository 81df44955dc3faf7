/** Entries of `verification.allowed_commands`: which commands of a plan they allow. An entry is a prefix, word by word; one
 *  that begins with `=` allows exactly its words. */
import { posix } from 'node:path';
import { addedWordProblem, isRunner, narrows, type PlannedFor, unknownWorkspace } from './added-words.ts';
import { invocation } from './programs.ts';
import { splitWords, wordFrom } from './words.ts';

/** Who set the plan. What an agent may add to a prefix is limited: `npm test --version` runs no test. */
export type PlanAuthor = 'agent' | 'tool';

/** Why no entry allows the command; undefined if one does. */
export function notAllowed(
  parts: CommandParts,
  allowed: readonly string[],
  author: PlanAuthor,
  workspace: PlannedFor = unknownWorkspace,
): string | undefined {
  const entries = allowed.map(entryOf);
  const exact = entries.filter(({ isExact }) => isExact);
  if (exact.some((entry) => isSame(entry, parts))) return undefined;
  const assigned = author === 'agent' ? assignmentProblem(parts, workspace) : undefined;
  const isListed = exact.some((entry) => entry.assignments.length === 0 && isSameWords(entry, parts));
  if (isListed) return assigned;
  // The longest prefix allows the most.
  const most = longest(entries, parts.words);
  if (most < 0) return 'verification.allowed_commands does not list it';
  if (author === 'tool') return undefined;
  for (let at = most; at < parts.words.length; at++) {
    const why = isHarmless(parts.words, parts.words[at] ?? '')
      ? addedWordProblem(parts.words, at, workspace)
      : '';
    if (why === undefined) continue;
    const entry = parts.words.slice(0, at + 1).join(' ');
    return `an agent may not add ${parts.words[at]} to an allowed command${why === '' ? '' : ` (${why})`}: add "${entry}" to verification.allowed_commands to allow it`;
  }
  return assigned;
}

/** The longest prefix that allows a command, and the words after it by which it runs fewer of the tests; undefined for a command that
 *  an entry names word by word, or that no entry allows. */
export function narrowingOf(
  words: readonly string[],
  allowed: readonly string[],
  { tests, folder }: { readonly tests: readonly string[]; readonly folder: string },
): { readonly prefix: string; readonly added: readonly string[] } | undefined {
  const entries = allowed.map(entryOf);
  if (entries.some((entry) => entry.isExact && entry.words.join('\0') === words.join('\0'))) return undefined;
  const most = longest(entries, words);
  if (most < 0) return undefined;
  const added = words.filter((_, at) => at >= most && narrows(words, at, tests, folder));
  return { prefix: words.slice(0, most).join(' '), added };
}

/** How many words the longest prefix has; -1 where none allows the command. */
const longest = (entries: readonly Entry[], words: readonly string[]): number =>
  Math.max(
    -1,
    ...entries
      .filter((entry) => !entry.isExact && beginsWith(words, entry.words))
      .map((entry) => entry.words.length),
  );

type Entry = CommandParts & { readonly isExact: boolean };

function entryOf(written: string): Entry {
  const isExact = written.startsWith('=');
  const text = isExact ? written.slice(1) : written;
  const parts = isExact ? takeApart(text) : { problem: '' };
  if (!('problem' in parts)) return { ...parts, isExact };
  const split = splitWords(text);
  const [first = '', ...rest] = 'words' in split ? split.words : text.trim().split(/\s+/);
  return { assignments: [], words: [first, ...rest], isExact };
}

const isSameWords = ({ words }: CommandParts, other: CommandParts): boolean =>
  JSON.stringify(words) === JSON.stringify(other.words);
const isSame = (one: CommandParts, other: CommandParts): boolean =>
  isSameWords(one, other) && JSON.stringify(one.assignments) === JSON.stringify(other.assignments);
const beginsWith = (words: readonly string[], beginning: readonly string[]): boolean =>
  beginning[0] !== '' && beginning.every((word, at) => word === words[at]);

/** Whether a word after a prefix cannot keep a runner from running its tests. */
const isHarmless = (words: readonly string[], word: string): boolean =>
  (!word.startsWith('-') && !word.includes('=')) ||
  harmless.some(([runner, options]) => runner.test(words.join(' ')) && options.test(word));

/** Options of verbosity, colour and the like. `-v` is on no general list: it is the version for many programs. */
const harmless: readonly (readonly [runner: RegExp, options: RegExp])[] = [
  [/^(?:npm|pnpm|yarn) /, /^(?:--|-s|--silent|--color|--no-color)$/],
  [/^node .*--test\b/, /^(?:--|--test-reporter=(?:spec|tap))$/],
  [
    /^(?:\S*\/)?(?:pytest|py\.test|python[\d.]* -m pytest)\b/,
    /^(?:--|-v+|-q|-x|-s|-l|-ra|-rA|--verbose|--quiet|--(?:color|tb)=\w+)$/,
  ],
  [/^(?:\S*\/)?python[\d.]* -m unittest\b/, /^(?:-[vqfb]|--verbose|--quiet|--buffer|--locals)$/],
  [/^go (?:test|vet|build)\b/, /^(?:-v|-race|-count=1|-cover)$/],
  [
    /^cargo /,
    /^(?:--|-v+|-q|--verbose|--quiet|--workspace|--all|--locked|--frozen|--offline|--all-features|--all-targets|--color=\w+)$/,
  ],
  [/^g?make /, /^(?:-s|--silent|-j\d*|--no-print-directory)$/],
  [/^(?:npx )?vitest\b/, /^(?:--run|--color|--no-color)$/],
  [/^(?:npx )?jest\b/, /^(?:--ci|--verbose|--colors|--no-colors)$/],
  [/^(?:mvn|\.\/mvnw|gradle|\.\/gradlew) /, /^(?:-B|-q|--quiet|--console=plain|--no-daemon|--offline)$/],
];

/** Variables that an agent may set for a runner. */
const freeNames = /^(?:CI|NODE_ENV|TZ|LANG|LC_\w+|TMPDIR|NO_COLOR|FORCE_COLOR|\w*CACHE)$/;

/** Why an agent's plan may not set these variables for this program. */
function assignmentProblem({ assignments, words }: CommandParts, workspace: PlannedFor): string | undefined {
  const { program, assigned } = invocation(words);
  if (!isRunner(program)) return undefined;
  const names = [...assignments.map(([name]) => name), ...assigned];
  const cache = assignments.find(([name, value]) => name.endsWith('CACHE') && isPrepared(value, workspace));
  const name = names.find((one) => !freeNames.test(one)) ?? cache?.[0];
  if (name === undefined) return undefined;
  const why = name === cache?.[0] ? ' (the run has made or changed this cache)' : '';
  const set = assignments.map(([one, value]) => `${one}=${value} `).join('');
  return `an agent may not set ${name} for ${program}${why}: add "=${set}${words.join(' ')}" to verification.allowed_commands to allow it`;
}

/** Whether a folder of the workspace has anything that the run has made or changed. */
function isPrepared(value: string, { changed, folder }: PlannedFor): boolean {
  const inside = value.replace(/^\$(?:PWD\b|\{PWD\})\/?/, './');
  const path = posix.normalize(posix.join(folder, inside)).replace(/(.)\/$/, '$1');
  return [...changed].some(
    ([one, how]) =>
      how !== 'deleted' &&
      (path === '.' || one === path || one.startsWith(`${path}/`) || path.startsWith(`${one}/`)),
  );
}

/** The parts of a verification command, which runs without a shell: assignments, then a program and its arguments. */
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
