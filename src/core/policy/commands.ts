/** Commands of verification nodes: which may run, and what they run. They run without a shell. */
import type { HomeAndTmp } from '../contracts/sandbox.ts';
import type { PlannedFor } from './added-words.ts';
import { type CommandParts, notAllowed, type PlanAuthor, takeApart } from './allowed-commands.ts';
import { invocation, patternWords, programTexts } from './programs.ts';
import { readShell, type ShellCommand } from './shell.ts';

/** Syntax that only a shell understands. It is refused in quotes too, as in the seed. */
const shellSyntax = ['&&', '||', ';', '|', '`', '$(', '>', '<', '\r', '\n'];

/** Why a verification command is refused, undefined when it may run. `allowed` are the entries of
 *  `verification.allowed_commands`, `author` who set the plan, `workspace` what the plan is for. Where it is not known
 *  what the node sees, `/tmp` and the home are `shared`. */
export function verificationCommandProblem(
  command: string,
  allowed: readonly string[],
  author: PlanAuthor,
  workspace?: PlannedFor,
  homeAndTmp: HomeAndTmp = 'shared',
): string | undefined {
  const refused = (why: string) => `verification command rejected: ${why}: ${shownWord(command)}`;
  const parsed = takeApart(command);
  const problem =
    'problem' in parsed
      ? undefined
      : (wordProblem(parsed, homeAndTmp) ?? nestedProblem(parsed.words, homeAndTmp));
  if (problem !== undefined) return guardrail(problem);
  const syntax = shellSyntax.find((piece) => command.trim().includes(piece));
  if (syntax !== undefined) {
    return refused(`it runs without a shell, so ${JSON.stringify(syntax)} cannot be used`);
  }
  if ('problem' in parsed) return refused(parsed.problem);
  const missing = notAllowed(parsed, allowed, author, workspace);
  return missing === undefined ? undefined : refused(missing);
}

const operators = '| || |& & && ; ;; > >> >| >& &> &>> < << <<< <& <>'.split(' ');

/** Why a work order's command is refused where `verification.allowed_commands="@plan"` allows the commands of the
 *  plan. Operators inside a program's text are part of it; a word that is an operator shows that a shell was
 *  expected. */
export function plannedCommandProblem(
  command: string,
  homeAndTmp: HomeAndTmp = 'shared',
): string | undefined {
  const parsed = takeApart(command);
  const refused = (why: string) => `verification command rejected: ${why}: ${shownWord(command)}`;
  if ('problem' in parsed) return refused(parsed.problem);
  const operator = parsed.words.find((word) => operators.includes(word));
  if (operator !== undefined) return refused(`it runs without a shell, so \`${operator}\` cannot be used`);
  const programs = new Set(programTexts(parsed.words).map(({ at }) => at));
  // A word with blanks is a text, not a path.
  const problem = wordProblem(parsed, homeAndTmp, (word, at) => programs.has(at) || /\s/.test(word));
  return problem === undefined ? undefined : guardrail(problem);
}

const guardrail = (problem: string) => `verification command rejected by guardrail: contains ${problem}`;

/** The problem in assignments and words, `isText` left out. */
function wordProblem(
  { assignments, words }: CommandParts,
  homeAndTmp: HomeAndTmp,
  isText: (word: string, at: number) => boolean = () => false,
): string | undefined {
  const patterns = patternWords(words);
  const paths = [...words, ...assignments.map(([name, value]) => `${name}=${value}`)];
  for (const [at, word] of paths.entries()) {
    const problem = isText(word, at) ? undefined : pathProblem(word, homeAndTmp, patterns.has(at));
    if (problem !== undefined) return problem;
  }
  return loaderProblem([...assignments.map(([name]) => name), ...invocation(words).assigned]);
}

function nestedProblem(words: readonly string[], homeAndTmp: HomeAndTmp): string | undefined {
  for (const { language, text } of programTexts(words)) {
    if (language !== 'shell') continue;
    const problem = shellProblem(text, homeAndTmp, (inner) => loaderProblem(invocation(inner).assigned));
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
  if ('problem' in parsed) return { problem: `${parsed.problem}: ${shownWord(command)}` };
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

/* The rules for `tool_command`, which a shell runs, and for other texts that a shell gets. */

/** Why a command that a shell runs is refused (variables replaced), to follow "is"; undefined when it is allowed. */
export function commandProblem(command: string, homeAndTmp: HomeAndTmp): string | undefined {
  const found = shellProblem(command, homeAndTmp);
  return found === undefined ? undefined : `rejected by guardrail: contains ${found}`;
}

/** `commandProblem` of a `tool_command`. */
export function toolCommandProblem(command: string, homeAndTmp: HomeAndTmp = 'shared'): string | undefined {
  const problem = commandProblem(command, homeAndTmp);
  return problem === undefined ? undefined : `tool_command ${problem}`;
}

/** The problem in the words of a command line, to follow "contains"; undefined when there is none. `check` is an
 *  additional rule for the words of each command. */
function shellProblem(
  line: string,
  homeAndTmp: HomeAndTmp,
  check: (words: readonly string[]) => string | undefined = () => undefined,
): string | undefined {
  for (const { words, targets } of commandsIn(line)) {
    const texts = words.map(({ text }) => text);
    const patterns = patternWords(texts);
    for (const [at, { text, home }] of [...words, ...targets].entries()) {
      const problem = pathProblem(text, homeAndTmp, patterns.has(at), home);
      if (problem !== undefined) return problem;
    }
    const problem = check(texts);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The scripts that a tool command names: its words that end in `.sh`, each once, in order. Options and words with
 *  a `=` do not count. */
export function scriptsNamed(toolCommand: string): string[] {
  const words = commandsIn(toolCommand).flatMap(({ words, targets }) => [...words, ...targets]);
  const scripts = words.map(({ text }) => text).filter((text) => /^[^-=\s][^=\s]*\.sh$/.test(text));
  return [...new Set(scripts)];
}

/** The commands of a line, and those of the texts after `sh -c` in it. */
function commandsIn(line: string): readonly ShellCommand[] {
  const { commands } = readShell(line);
  const texts = commands.flatMap(({ words }) => programTexts(words.map(({ text }) => text)));
  const nested = texts.filter(({ language }) => language === 'shell').map(({ text }) => text);
  return [...commands, ...nested.flatMap(commandsIn)];
}

/* Path rules for words, as in the seed: nodes work inside their workspace and name everything relative to it. */

/** `..` between the ends of a path component. */
const parent = /(?:^|[\s/;&|()'"`=])\.\.(?=$|[\s/;&|()'"`])/;
const home = /^~/;
/** In a sandbox these are the node's own. `~name` is another user's. */
const privatePlace = /^(?:\/tmp|~)(?:\/|$)/;

/** The problem with a word (quotes removed), to follow "contains"; undefined when there is none. A `pattern` may
 *  begin with a slash; `expandsHome`: `$HOME` is in it. */
function pathProblem(
  word: string,
  homeAndTmp: HomeAndTmp,
  isPattern: boolean,
  expandsHome = false,
): string | undefined {
  if (parent.test(word)) return `a ".." path component: ${shownWord(word)}`;
  // After `name=` or `--flag=` too.
  const [, value] = /^[\w.+\-[\]]+=(.*)$/s.exec(word) ?? [];
  for (const path of [word, ...(value === undefined ? [] : [value])]) {
    const isHome = expandsHome || home.test(path);
    if (!isHome && (isPattern || !isAbsolute(path))) continue;
    const isPrivate = expandsHome || privatePlace.test(path);
    if (isPrivate && homeAndTmp === 'private') continue;
    const found = `${isHome ? 'a home reference' : 'an absolute path'}: ${shownWord(word)}`;
    return isPrivate ? `${found} (allowed only in a sandbox)` : found;
  }
  return undefined;
}

/** `/dev/null`, a process's own streams and `env`, which finds programs on PATH, lie outside the workspace and give access to
 *  nothing there. */
const isHarmless = (path: string): boolean =>
  /^\/(?:dev\/(?:null|stdin|stdout|stderr|fd\/\d+)|usr\/bin\/env)$/.test(path);
const isAbsolute = (path: string): boolean => path.startsWith('/') && !isHarmless(path);

/** A word as messages show it: on one line and not too long. */
export function shownWord(word: string): string {
  const line = word.replace(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

/** The git commands that a check may run where commits hold holdout files: they print how the workspace differs
 *  from the commits, and the commits' names. Any other command prints content, or starts a program that could. */
const file = String.raw`(?!-|.*\.\.)[\w./-]*`;
const words = (...each: readonly string[]): RegExp => new RegExp(`^(?:${each.join('|')})$`);
const questions: Readonly<Record<string, RegExp>> = {
  status: words('-s', '-b', '-sb', '--short', '--branch', '--porcelain(?:=v[12])?', '-u\\w*', file),
  // A name without a dot could be a commit's.
  diff: words(
    '--exit-code|--quiet|--check|--stat|--numstat|--shortstat|--name-only|--name-status|--cached|--staged|HEAD',
    String.raw`${file}\.\w+`,
  ),
  log: words(String.raw`-n?\d+`, '--oneline', String.raw`--(?:pretty|format)=[%\w: -]*`),
  'rev-parse': words('--verify|--quiet|-q|--short|--is-inside-work-tree|--show-toplevel|HEAD'),
};

/** After `--`, every name is a path. */
const path = words(file);

/** Whether an argv of git is one of these commands. */
export function showsNoCommit([program, question = '', ...more]: readonly string[]): boolean {
  const asked = Object.hasOwn(questions, question) ? questions[question] : undefined;
  const end = more.includes('--') ? more.indexOf('--') : more.length;
  return (
    program === 'git' &&
    asked !== undefined &&
    more.slice(0, end).every((word) => asked.test(word)) &&
    more.slice(end + 1).every((word) => path.test(word))
  );
}
