/** Entries of `verification.allowed_commands`: which commands of a plan they allow. An entry is a prefix, word by word; one
 *  that begins with `=` allows exactly its words. */
import { type CommandParts, takeApart } from './command-parts.ts';
import { invocation } from './programs.ts';
import { splitWords } from './words.ts';

/** Who set the plan. What an agent may add to a prefix is limited: `npm test --version` runs no test. */
export type PlanAuthor = 'agent' | 'tool';

/** Why no entry allows the command; undefined if one does. */
export function notAllowed(
  parts: CommandParts,
  allowed: readonly string[],
  author: PlanAuthor,
): string | undefined {
  const entries = allowed.map(entryOf);
  const exact = entries.filter(({ isExact }) => isExact);
  if (exact.some((entry) => isSame(entry, parts))) return undefined;
  const assigned = author === 'agent' ? assignmentProblem(parts) : undefined;
  const isListed = exact.some((entry) => entry.assignments.length === 0 && isSameWords(entry, parts));
  if (isListed) return assigned;
  const prefixes = entries.filter((entry) => !entry.isExact && beginsWith(parts.words, entry.words));
  if (prefixes.length === 0) return 'verification.allowed_commands does not list it';
  if (author === 'tool') return undefined;
  // The longest prefix allows the most.
  const most = Math.max(...prefixes.map(({ words }) => words.length));
  const bad = parts.words.findIndex((word, at) => at >= most && !isHarmless(parts.words, word));
  if (bad < 0) return assigned;
  return `an agent may not add ${parts.words[bad]} to an allowed command: add "${parts.words.slice(0, bad + 1).join(' ')}" to verification.allowed_commands to allow it`;
}

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
const beginsWith = (words: readonly string[], wanted: readonly string[]): boolean =>
  wanted[0] !== '' && wanted.every((word, at) => word === words[at]);

/** Whether a word after a prefix cannot keep a runner from running its tests. */
const isHarmless = (words: readonly string[], word: string): boolean =>
  (!word.startsWith('-') && !word.includes('=')) ||
  harmless.some(([runner, options]) => runner.test(words.join(' ')) && options.test(word));

/** Options of verbosity, colour and the like. `-v` is on no general list: it is the version for many programs. */
const harmless: readonly (readonly [runner: RegExp, options: RegExp])[] = [
  [/^(?:npm|pnpm|yarn) /, /^(?:--|-s|--silent|--color|--no-color)$/],
  [/^node .*--test\b/, /^(?:--|--test-reporter=(?:spec|tap|dot))$/],
  [
    /^(?:\S*\/)?(?:pytest|py\.test|python[\d.]* -m pytest)\b/,
    /^(?:--|-v+|-q+|-x|-s|-l|-ra|-rA|--verbose|--quiet|--(?:color|tb)=\w+)$/,
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

/** Test runners, build tools and interpreters: variables are settings of theirs. */
const runners =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|pytest|py\.test|tox|nox|uv|poetry|ruby|bundle|rake|rspec|perl|prove|php|phpunit|composer|lua|julia|Rscript|npm|pnpm|yarn|npx|vitest|jest|mocha|ava|tap|c8|nyc|g?make|just|ninja|cmake|ctest|meson|bazel|go|cargo|dotnet|java|mvnw?|gradlew?|sbt|swift|zig|mix|(?:ba|da|z|k|fi)?sh)$/;
const freeNames = /^(?:CI|NODE_ENV|TZ|LANG|LC_\w+|TMPDIR|NO_COLOR|FORCE_COLOR|\w*CACHE)$/;

/** Why an agent's plan may not set these variables for this program. */
function assignmentProblem({ assignments, words }: CommandParts): string | undefined {
  const { program, assigned } = invocation(words);
  if (!runners.test(program)) return undefined;
  const names = [...assignments.map(([name]) => name), ...assigned];
  const name = names.find((one) => !freeNames.test(one));
  if (name === undefined) return undefined;
  const set = assignments.map(([one, value]) => `${one}=${value} `).join('');
  return `an agent may not set ${name} for ${program}: add "=${set}${words.join(' ')}" to verification.allowed_commands to allow it`;
}
