/** Commands of verification nodes: which may run, and what they run. No shell stands in between. */
import { pathProblem, shown } from './path-rules.ts';
import { invocation, nestedCommandLines, patternWords, programTexts } from './programs.ts';
import { type Check, shellProblem } from './shell-rules.ts';
import { splitWords, wordFrom } from './words.ts';

/** Syntax that only a shell understands. It is refused in quotes too: a verification command is to be read at a
 *  glance. */
const shellSyntax = ['&&', '||', ';', '|', '`', '$(', '>', '<', '\r', '\n'];

/** Why a verification command is refused, undefined when it may run. `allowed` are the entries of
 *  `verification.allowed_commands`: the command, without leading assignments and wrapping parentheses, has the words
 *  of one of them, or begins with them. */
export function verificationCommandProblem(command: string, allowed: readonly string[]): string | undefined {
  const refused = (why: string) => `verification command rejected: ${why}: ${shown(command)}`;
  const parsed = takeApart(command);
  if (!('problem' in parsed)) {
    const problem = verificationPathProblem(parsed);
    if (problem !== undefined) return `verification command rejected by guardrail: contains ${problem}`;
  }
  const syntax = shellSyntax.find((piece) => command.trim().includes(piece));
  if (syntax !== undefined) {
    return refused(`it runs without a shell, so ${JSON.stringify(syntax)} cannot be used`);
  }
  if ('problem' in parsed) return refused(parsed.problem);
  return allowed.some((entry) => beginsWith(parsed.words, entry))
    ? undefined
    : refused('verification.allowed_commands does not list it');
}

function verificationPathProblem({ assignments, words }: Taken): string | undefined {
  const patterns = patternWords(words);
  const paths = [...words, ...assignments.map(([name, value]) => `${name}=${value}`)];
  for (const [at, word] of paths.entries()) {
    const problem = pathProblem(word, { pattern: patterns.has(at) });
    if (problem !== undefined) return problem;
  }
  const names = [...assignments.map(([name]) => name), ...invocation(words).assigned];
  return loaderProblem(names) ?? shellProblem(nestedCommandLines(words), nestedLoaderProblem);
}

function beginsWith(words: readonly string[], entry: string): boolean {
  const split = splitWords(entry);
  const wanted = 'words' in split ? split.words : entry.trim().split(/\s+/);
  return wanted.length > 0 && wanted.every((word, at) => word === words[at]);
}

/** What a verification command runs: no shell in between, nothing expanded but `$PWD` in the assignments before the
 *  program. `cwd` is the absolute folder it will run in. The problem reads on after
 *  "the command is rejected: ". */
export function parseVerificationCommand(
  command: string,
  cwd: string,
):
  | { readonly env: Record<string, string>; readonly argv: [string, ...string[]] }
  | { readonly problem: string } {
  const taken = takeApart(command);
  if ('problem' in taken) return { problem: `${taken.problem}: ${shown(command)}` };
  const values = taken.assignments.map(
    ([name, value]) => [name, value.replace(/\$(?:PWD\b|\{PWD\})/g, () => cwd)] as const,
  );
  return { env: Object.fromEntries(values), argv: taken.words };
}

type Taken = {
  readonly assignments: readonly (readonly [name: string, value: string])[];
  readonly words: [string, ...string[]];
};

/** Splits a command into the assignments before its program and its words; wrapping parentheses fall away. */
function takeApart(command: string): Taken | { readonly problem: string } {
  if (command.includes('\0')) return { problem: 'it contains a NUL' };
  const assignments: [string, string][] = [];
  let text = command.trim();
  for (;;) {
    const inner = withoutParentheses(text);
    const first = wordFrom(inner, 0);
    if (first === undefined) return { problem: 'it names no program' };
    if ('problem' in first) return { problem: `it cannot be split into words, ${first.problem}` };
    const assigned = /^([A-Za-z_]\w*)=([\s\S]*[^=])$/.exec(first.text);
    // The name must stand outside quotes to be one.
    if (
      assigned?.[1] !== undefined &&
      assigned[2] !== undefined &&
      inner.startsWith(`${assigned[1]}=`, first.start)
    ) {
      assignments.push([assigned[1], assigned[2]]);
      text = inner.slice(first.end).trim();
    } else {
      const split = splitWords(inner);
      if ('problem' in split) return { problem: `it cannot be split into words, ${split.problem}` };
      const [program, ...rest] = split.words;
      if (program === undefined || program === '') return { problem: 'it names no program' };
      return { assignments, words: [program, ...rest] };
    }
  }
}

/** Deeper than this, parentheses are left to be refused as part of the program's name. */
const mostParentheses = 8;

function withoutParentheses(text: string): string {
  let inner = text;
  for (let layer = 0; layer < mostParentheses && isWrapped(inner); layer++) inner = inner.slice(1, -1).trim();
  return inner;
}

/** True when the first parenthesis is closed by the last: `(a)`, not `(a) (b)`. */
function isWrapped(text: string): boolean {
  if (!text.startsWith('(') || !text.endsWith(')')) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return at === text.length - 1;
  }
  return false;
}

const operators = '| || |& & && ; ;; > >> >| >& &> &>> < << <<< <& <>'.split(' ');

/** Why a work order's own command is refused where `verification.allowed_commands="@plan"` allows what the plan
 *  says. It runs without a shell, so operators inside a program's text are that program's; a word that is one
 *  means a shell was expected. */
export function plannedCommandProblem(command: string): string | undefined {
  const taken = takeApart(command);
  const refused = (why: string) => `verification command rejected: ${why}: ${shown(command)}`;
  if ('problem' in taken) return refused(taken.problem);
  const operator = taken.words.find((word) => operators.includes(word));
  if (operator !== undefined) return refused(`it runs without a shell, so \`${operator}\` cannot be used`);
  const problem = plannedPathProblem(taken);
  return problem === undefined
    ? undefined
    : `verification command rejected by guardrail: contains ${problem}`;
}

function plannedPathProblem({ assignments, words }: Taken): string | undefined {
  const loads = loaderProblem([...assignments.map(([name]) => name), ...invocation(words).assigned]);
  if (loads !== undefined) return loads;
  const patterns = patternWords(words);
  const programs = programTexts(words);
  const paths = [...words, ...assignments.map(([name, value]) => `${name}=${value}`)];
  for (const [at, word] of paths.entries()) {
    // A word with blanks is a text, not a path.
    if (programs.has(at) || /\s/.test(word)) continue;
    const problem = pathProblem(word, { pattern: patterns.has(at) });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Variables that make a program load code of somebody's choice, so that an allowed command would be any command. */
const loaders: ReadonlySet<string> = new Set([
  ...['PATH', 'SHELL', 'ENV', 'BASH_ENV', 'MAKEFLAGS', 'GNUMAKEFLAGS', 'MAKEFILES', 'CLASSPATH'],
  ...['NODE_OPTIONS', 'NODE_PATH'],
  ...['PYTHONPATH', 'PYTHONSTARTUP', 'PYTHONHOME', 'PYTHONUSERBASE', 'PYTEST_ADDOPTS', 'PYTEST_PLUGINS'],
  ...[
    'PERL5LIB',
    'PERL5OPT',
    'PERL5DB',
    'PERLLIB',
    'RUBYOPT',
    'RUBYLIB',
    'LUA_PATH',
    'LUA_CPATH',
    'LUA_INIT',
  ],
  ...['GOFLAGS', 'GOENV', 'GOROOT', 'RUSTC', 'RUSTC_WRAPPER', 'RUSTC_WORKSPACE_WRAPPER', 'RUSTDOC'],
  ...['JAVA_TOOL_OPTIONS', 'JDK_JAVA_OPTIONS', '_JAVA_OPTIONS', 'DOTNET_STARTUP_HOOKS'],
  ...[
    'PHPRC',
    'PHP_INI_SCAN_DIR',
    'R_PROFILE',
    'R_PROFILE_USER',
    'JULIA_LOAD_PATH',
    'ERL_FLAGS',
    'ERL_AFLAGS',
  ],
]);
// npm reads its settings from variables in any case, and a setting can name a shell or another settings file; one of
// cargo's can name what runs the tests.
const isLoader = (name: string): boolean =>
  /^(?:LD|DYLD|GIT|BASH_FUNC)_/.test(name) ||
  /^npm_config_/i.test(name) ||
  /^CARGO_(?:HOME|BUILD_RUST(?:C|DOC)(?:_\w+)?|TARGET_\w+_(?:RUNNER|LINKER))$/.test(name) ||
  loaders.has(name);

const loaderProblem = (names: readonly string[]): string | undefined => {
  const name = names.find(isLoader);
  return name === undefined ? undefined : `an assignment to ${name}, which loads code`;
};

const nestedLoaderProblem: Check = (command) =>
  loaderProblem(invocation(command.words.map((word) => word.text)).assigned);
