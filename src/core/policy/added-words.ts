/** Words that a plan made by an agent adds to an allowed command. They may narrow a check to tests that were there before the run, not
 *  choose what the run has made, and not keep a runner from running tests. */
import { posix } from 'node:path';
import type { ChangedPaths } from '../contracts/node-kind.ts';
import { isAtOrBelow } from './holdout-paths.ts';
import { patternWords } from './programs.ts';
import { startedProgram } from './started-program.ts';
import { isTestFile } from './test-files.ts';

/** The workspace that a plan is for. */
export type PlannedFor = {
  /** Its paths. */
  readonly all: ReadonlySet<string>;
  /** What agents and tools of the run have changed. */
  readonly changed: ChangedPaths;
  /** Where the commands run, relative to it. */
  readonly folder: string;
};

export const unknownWorkspace: PlannedFor = { all: new Set(), changed: new Map(), folder: '.' };

/** Test runners, build tools and interpreters: what they are given is run, and variables are settings of theirs. */
const runners =
  /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|pytest|py\.test|unittest|tox|nox|uv|poetry|ruby|bundle|rake|rails|rspec|minitest|perl|prove|php|phpunit|composer|lua|julia|Rscript|npm|pnpm|yarn|npx|vitest|jest|mocha|ava|tap|tape|c8|nyc|bats|g?make|just|ninja|cmake|ctest|meson|bazel|go|cargo|dotnet|java|mvnw?|gradlew?|sbt|swift|zig|mix|(?:ba|da|z|k|fi)?sh)$/;
export const isRunner = (program: string): boolean => runners.test(program);

/** Words for what a program says of itself or of the project: with them it runs no test. */
const asking =
  /^(?:h|help|ls|la|ll|list|listtests|v|versions?|info|about|init|env|doc|docs|config|show|view|why|explain|outdated|search|completions?|tree|metadata|tasks|targets|projects|properties|dependencies|inspect|(?:help|dependency|versions):.*)$/i;

/** Why an agent may not add the word at `at`; undefined if it may. */
export function addedWordProblem(
  words: readonly string[],
  at: number,
  workspace: PlannedFor,
): string | undefined {
  const word = words[at] ?? '';
  if (patternWords(words).has(at)) return undefined;
  if (word.startsWith('@')) return 'a file of arguments';
  const started = startedProgram(words);
  const isKnown = isRunner(started.program);
  const path = pathOf(word, workspace);
  // Right after its program a word is a command before it is a path.
  const isFirst = at === started.at + 1;
  if (asking.test(word) && ((isKnown && isFirst) || !exists(path, workspace)))
    return 'it lists or explains, and runs no test';
  const isCommand = isKnown && areCommands(words.slice(started.at + 1, at + 1));
  const runs = started.at >= at || (isKnown && !isCommand && runsWhatItIsGiven(words, started.at, at));
  if (!runs) return undefined;
  const made = started.program.match(targets) ? undefined : madeByRun(word, words, started.at, workspace);
  return made === undefined ? undefined : `the run has made or changed ${made}`;
}

/** Programs whose operands are targets or tasks, not paths. */
const targets = /^(?:g?make|just|ninja|rake|gradlew?|mvnw?|sbt|tox|nox)$/;

/** Whether a program runs what its operands name: it may also only look at them. */
function runsWhatItIsGiven(words: readonly string[], program: number, at: number): boolean {
  const name = posix.basename(words[program] ?? '');
  const rest = words.slice(program + 1, at);
  const [first = '', second = ''] = rest;
  if (/^(?:node|nodejs)$/.test(name)) return !rest.some((word) => /^(?:-c|--check)$/.test(word));
  if (/^(?:ba|da|z|k)?sh$/.test(name)) return !rest.some((word) => /^-\w*n/.test(word));
  if (/^(?:ruby|perl)$/.test(name)) return !rest.some((word) => /^-\w*c$/.test(word));
  if (name === 'php') return !rest.includes('-l');
  if (name === 'go') return /^(?:test|run|generate|tool)$/.test(first);
  if (name === 'cargo') return /^(?:t|test|r|run|bench|nextest)$/.test(first);
  if (name === 'deno') return !/^(?:check|lint|fmt|info|doc)$/.test(first);
  if (!/^(?:npm|pnpm|yarn|bun)$/.test(name)) return true;
  // The word itself is a command or the name of a script.
  if (rest.length === 0 || (rest.length === 1 && /^(?:run|run-script)$/.test(first))) return name === 'bun';
  return !/^(?:lint|format|fmt|types?|typecheck|tsc|prettier|eslint|style|build)(?:$|[:.-])/.test(
    /^(?:run|run-script)$/.test(first) ? second : first,
  );
}

/** Words that are a runner's commands, not what it is to test. */
const commands = /^(?:t|tst|test|run|run-script|nextest|discover|ci|-.*)$/;
const areCommands = (words: readonly string[]): boolean => words.every((word) => commands.test(word));

/** The path that a word names in the workspace: without a node id, a line number or Go's `/...`. */
function pathOf(word: string, { folder }: PlannedFor): string {
  const bare = word.replace(/::.*$|:\d+(?::\d+)?$|\/\.\.\.$/s, '');
  const path = posix.normalize(posix.join(folder, bare === '...' ? '.' : bare)).replace(/(.)\/$/, '$1');
  return path === '.' ? '' : path;
}

const exists = (path: string, { all }: PlannedFor): boolean => path === '' || all.has(path);

/** Endings that interpreters and runners add to a name. */
const endings = ['js', 'mjs', 'cjs', 'ts', 'mts', 'cts', 'jsx', 'tsx', 'py', 'rb', 'php', 'pl', 'lua'];
/** Characters by which a word selects files in a way that is not followed here. */
const pattern = /[{}()[\]|\\^$+?!]/;

/** What of the run's own making the word would choose; undefined where it chooses nothing, or tests that were there before. */
function madeByRun(
  word: string,
  words: readonly string[],
  program: number,
  workspace: PlannedFor,
): string | undefined {
  const { changed } = workspace;
  const path = pathOf(word, workspace);
  if (path === '' || changed.size === 0) return undefined;
  const isNew = (one: string): boolean => changed.has(one) && changed.get(one) !== 'deleted';
  const parts = path.split('/');
  // A folder or a link on the way may be the run's.
  const above = parts.map((_, at) => parts.slice(0, at + 1).join('/')).find(isNew);
  if (above !== undefined) return above;
  const tests = [...workspace.all].filter(isTestFile);
  const chosen = exists(path, workspace)
    ? {
        new: tests.filter((one) => isNew(one) && isAtOrBelow(one, path)),
        old: (one: string) => isAtOrBelow(one, path),
      }
    : selected(word, tests.filter(isNew), words[program] ?? '', workspace);
  if (chosen === undefined) return `what ${word} selects`;
  const isNarrower = tests.some((one) => !isNew(one) && chosen.old(one));
  const [first] = isNarrower ? [] : chosen.new;
  // Only an interpreter prefers such a file to the tests whose names hold the word.
  const main = mains(words, program).map((name) => `${path}/${name}`);
  const named = [...endings.map((ending) => `${path}.${ending}`), ...main].find(isNew);
  return isNarrower && !interpreters.test(words[program] ?? '') ? undefined : (named ?? first);
}

const interpreters = /^(?:node|nodejs|deno|bun|tsx|ts-node|python[\d.]*|pypy[\d.]*|ruby|php|perl|lua|mocha)$/;

/** The file that an interpreter runs in a folder. */
function mains(words: readonly string[], program: number): readonly string[] {
  if (words.includes('--test')) return [];
  const name = words[program] ?? '';
  if (/^(?:node|nodejs|bun|tsx|ts-node)$/.test(name)) return endings.map((ending) => `index.${ending}`);
  return /^python/.test(name) ? ['__main__.py'] : [];
}

type Selection = { readonly new: readonly string[]; old(path: string): boolean };

/** The tests that a word selects which names no path: a module, a glob, or a part of a path. New ones are taken if a runner could
 *  select them, old ones only if every runner does. */
function selected(
  word: string,
  news: readonly string[],
  program: string,
  { folder, changed }: PlannedFor,
): Selection | undefined {
  if (pattern.test(word) || word.split('*').length > 5) return undefined;
  if (/^(?:python|unittest|pytest|py\.test)/.test(program) || program.endsWith('/pytest')) {
    const files = moduleFiles(word);
    const names = (path: string) => files.some((file) => path === file || path.endsWith(`/${file}`));
    return {
      new: [...changed.keys()].filter((one) => changed.get(one) !== 'deleted' && names(one)),
      old: names,
    };
  }
  const inFolder = posix.normalize(posix.join(folder, word));
  const loose = new RegExp(
    word
      .split('*')
      .map((part) => part.split('.').map(escaped).join('.'))
      .join('.*'),
    'i',
  );
  const glob = new RegExp(
    `^${inFolder
      .split(/(\*\*\/?|\*)/)
      .map(globPart)
      .join('')}$`,
  );
  const isGlob = word.includes('*');
  return {
    new: news.filter((one) => loose.test(one)),
    old: (one) => (isGlob ? glob.test(one) : one.includes(word)),
  };
}

const escaped = (text: string): string => text.replace(/[^\w/-]/g, '\\$&');
const globPart = (part: string): string =>
  part.startsWith('**') ? '.*' : part === '*' ? '[^/]*' : escaped(part);

/** `pkg.mod.Case.test_x` → `pkg/mod/Case/test_x.py`, `pkg/mod/Case.py`, `pkg/mod.py`, `pkg.py`. */
const moduleFiles = (word: string): string[] =>
  word.split('.').map((_, at, parts) => `${parts.slice(0, at + 1).join('/')}.py`);

/** Whether a word that was added to a prefix makes the check run fewer of the tests that were there at the start. */
export function narrows(
  words: readonly string[],
  at: number,
  tests: readonly string[],
  folder: string,
): boolean {
  const word = words[at] ?? '';
  const started = startedProgram(words);
  const isOperand = !word.startsWith('-') && !word.includes('=') && at > started.at;
  if (!isOperand || !isRunner(started.program) || targets.test(started.program)) return false;
  if (!runsWhatItIsGiven(words, started.at, at)) return false;
  const isCommand = areCommands(words.slice(started.at + 1, at + 1));
  const path = pathOf(word, { ...unknownWorkspace, folder });
  return !isCommand && path !== '' && !tests.every((one) => isAtOrBelow(one, path));
}
