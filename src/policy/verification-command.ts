/** Commands of verification nodes: which may run, and what they run. They run without a shell. */
import { notAllowed, type PlanAuthor } from './allowed-commands.ts';
import { type CommandParts, takeApart } from './command-parts.ts';
import { shellProblem } from './commands.ts';
import { pathProblem, shown } from './path-rules.ts';
import { invocation, patternWords, programTexts } from './programs.ts';

/** Syntax that only a shell understands. It is refused in quotes too, as in the seed. */
const shellSyntax = ['&&', '||', ';', '|', '`', '$(', '>', '<', '\r', '\n'];

/** Why a verification command is refused, undefined when it may run. `allowed` are the entries of
 *  `verification.allowed_commands`, `author` who set the plan. */
export function verificationCommandProblem(
  command: string,
  allowed: readonly string[],
  author: PlanAuthor,
): string | undefined {
  const refused = (why: string) => `verification command rejected: ${why}: ${shown(command)}`;
  const parsed = takeApart(command);
  const problem = 'problem' in parsed ? undefined : (wordProblem(parsed) ?? nestedProblem(parsed.words));
  if (problem !== undefined) return guardrail(problem);
  const syntax = shellSyntax.find((piece) => command.trim().includes(piece));
  if (syntax !== undefined) {
    return refused(`it runs without a shell, so ${JSON.stringify(syntax)} cannot be used`);
  }
  if ('problem' in parsed) return refused(parsed.problem);
  const missing = notAllowed(parsed, allowed, author);
  return missing === undefined ? undefined : refused(missing);
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
  { assignments, words }: CommandParts,
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
