/** Commands of verification nodes: which may run, and what they run. They run without a shell. */
import { shellProblem } from './commands.ts';
import { pathProblem, shown } from './path-rules.ts';
import { invocation, patternWords, programTexts } from './programs.ts';
import { splitWords, wordFrom } from './words.ts';

/** Syntax that only a shell understands. It is refused in quotes too, as in the seed. */
const shellSyntax = ['&&', '||', ';', '|', '`', '$(', '>', '<', '\r', '\n'];

/** Why a verification command is refused, undefined when it may run. `allowed` are the entries of
 *  `verification.allowed_commands`: the command, without leading assignments and wrapping parentheses, has the words
 *  of one of them, or begins with them. */
export function verificationCommandProblem(command: string, allowed: readonly string[]): string | undefined {
  const refused = (why: string) => `verification command rejected: ${why}: ${shown(command)}`;
  const parsed = takeApart(command);
  const problem = 'problem' in parsed ? undefined : (wordProblem(parsed) ?? nestedProblem(parsed.words));
  if (problem !== undefined) return guardrail(problem);
  const syntax = shellSyntax.find((piece) => command.trim().includes(piece));
  if (syntax !== undefined) {
    return refused(`it runs without a shell, so ${JSON.stringify(syntax)} cannot be used`);
  }
  if ('problem' in parsed) return refused(parsed.problem);
  return allowed.some((entry) => beginsWith(parsed.words, entry))
    ? undefined
    : refused('verification.allowed_commands does not list it');
}

const operators = '| || |& & && ; ;; > >> >| >& &> &>> < << <<< <& <>'.split(' ');

/** Why a work order's command is refused where `verification.allowed_commands="@plan"` allows the commands of the
 *  plan. Operators inside a program's text are part of it; a word that is an operator shows that a shell was
 *  expected. */
export function plannedCommandProblem(command: string): string | undefined {
  const parsed = takeApart(command);
  const refused = (why: string) => `verification command rejected: ${why}: ${shown(command)}`;
  if ('problem' in parsed) return refused(parsed.problem);
  const operator = parsed.words.find((word) => operators.includes(word));
  if (operator !== undefined) return refused(`it runs without a shell, so \`${operator}\` cannot be used`);
  const programs = new Set(programTexts(parsed.words).map(({ at }) => at));
  // A word with blanks is a text, not a path.
  const problem = wordProblem(parsed, (word, at) => programs.has(at) || /\s/.test(word));
  return problem === undefined ? undefined : guardrail(problem);
}

const guardrail = (problem: string) => `verification command rejected by guardrail: contains ${problem}`;

/** The problem in assignments and words, `isText` left out. */
function wordProblem(
  { assignments, words }: Parsed,
  isText: (word: string, at: number) => boolean = () => false,
): string | undefined {
  const patterns = patternWords(words);
  const paths = [...words, ...assignments.map(([name, value]) => `${name}=${value}`)];
  for (const [at, word] of paths.entries()) {
    const problem = isText(word, at) ? undefined : pathProblem(word, patterns.has(at));
    if (problem !== undefined) return problem;
  }
  return loaderProblem([...assignments.map(([name]) => name), ...invocation(words).assigned]);
}

function nestedProblem(words: readonly string[]): string | undefined {
  for (const { language, text } of programTexts(words)) {
    if (language !== 'shell') continue;
    const problem = shellProblem(text, (inner) => loaderProblem(invocation(inner).assigned));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function beginsWith(words: readonly string[], entry: string): boolean {
  const split = splitWords(entry);
  const wanted = 'words' in split ? split.words : entry.trim().split(/\s+/);
  return wanted.length > 0 && wanted.every((word, at) => word === words[at]);
}

/** What a verification command runs: nothing is expanded but `$PWD` in the assignments before the program. `cwd` is
 *  the absolute folder that it will run in. The problem continues the text "the command is rejected: ". */
export function parseVerificationCommand(
  command: string,
  cwd: string,
):
  | { readonly env: Record<string, string>; readonly argv: [string, ...string[]] }
  | { readonly problem: string } {
  const parsed = takeApart(command);
  if ('problem' in parsed) return { problem: `${parsed.problem}: ${shown(command)}` };
  const values = parsed.assignments.map(
    ([name, value]) => [name, value.replace(/\$(?:PWD\b|\{PWD\})/g, () => cwd)] as const,
  );
  return { env: Object.fromEntries(values), argv: parsed.words };
}

type Parsed = {
  readonly assignments: readonly (readonly [name: string, value: string])[];
  readonly words: [string, ...string[]];
};

/** Splits a command into the assignments before its program and its words; wrapping parentheses are dropped. */
function takeApart(command: string): Parsed | { readonly problem: string } {
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

/** Variables by which a program loads code or takes settings that name programs: with them, an allowed command
 *  could run any command. npm reads its settings in any case. */
const loaders: readonly RegExp[] = [
  /^(?:LD|DYLD|GIT|BASH_FUNC)_/,
  /^(?:PATH|SHELL|ENV|BASH_ENV|SHELLOPTS|BASHOPTS)$/,
  /^NODE_(?!ENV$)/,
  /^npm_config_/i,
  /^PYTHON(?:PATH|STARTUP|HOME|USERBASE)$|^PYTEST_(?:ADDOPTS|PLUGINS)$/,
  /^(?:GNU)?MAKE(?:FLAGS|FILES)$/,
  /^PERL(?:5LIB|5OPT|5DB|LIB)$|^RUBY(?:OPT|LIB)$|^LUA_(?:PATH|CPATH|INIT)$/,
  /^GO(?:FLAGS|ENV|ROOT)$/,
  /^RUST(?:C|DOC|C_WRAPPER|C_WORKSPACE_WRAPPER)$/,
  /^CARGO_(?:HOME|BUILD_RUST(?:C|DOC)(?:_\w+)?|TARGET_\w+_(?:RUNNER|LINKER))$/,
  /^(?:CLASSPATH|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|_JAVA_OPTIONS|DOTNET_STARTUP_HOOKS)$/,
  /^(?:PHPRC|PHP_INI_SCAN_DIR|R_PROFILE|R_PROFILE_USER|JULIA_LOAD_PATH|ERL_A?FLAGS)$/,
];

function loaderProblem(names: readonly string[]): string | undefined {
  const name = names.find((one) => loaders.some((loader) => loader.test(one)));
  return name === undefined ? undefined : `an assignment to ${name}, which loads code`;
}
