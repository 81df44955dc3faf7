/** The test runners that a command starts for certain, through package.json, makefiles and shell scripts, and whose output it leaves
 *  alone. What may or may not run (in a condition, a loop, a function) does not count. */
import { posix } from 'node:path';
import type { CheckCommand } from './check-words.ts';
import { makeSettings, recipeOf, targetsNeeded } from './makefile.ts';
import type { ShellCommand } from './shell.ts';
import { type ListStatement, readLists, shellCommandsOf } from './shell-lists.ts';
import { startedProgram } from './started-program.ts';
import { settingsIn } from './test-files.ts';
import { runnerOf, type StartedRunner } from './test-summary.ts';
import { quoteWord } from './words.ts';

/** The text of a file of the workspace; undefined where there is none. */
type Read = (path: string) => Promise<string | undefined>;

export async function runnersBehind(
  command: CheckCommand,
  folder: string,
  read: Read,
): Promise<readonly StartedRunner[]> {
  const found: StartedRunner[] = [];
  const open: Command[] = [{ command, folder, here: folder, decides: true }];
  // A script may start itself.
  for (let left = 50; left > 0; left--) {
    const next = open.shift();
    if (next === undefined) break;
    const each = typeof next.command === 'string' ? inText(next.command, next) : [words(next)];
    for (const { argv, folder: at, decides } of each) {
      const inner = await startedIn(argv, at, read);
      if ('runner' in inner) found.push({ ...inner.runner, decides: decides && next.decides });
      else open.push(...inner.commands.map((one) => ({ ...one, decides: decides && next.decides })));
    }
  }
  return found;
}

/** `here`: the folder of the script that has the text; `decides`: whether its failure is the failure of the whole. */
type Inside = { readonly command: CheckCommand; readonly folder: string; readonly here: string };
type Command = Inside & { readonly decides: boolean };
type Started = { readonly argv: readonly string[]; readonly folder: string; readonly decides: boolean };
const words = ({ command, folder }: Command): Started => ({
  argv: typeof command === 'string' ? [] : command,
  folder,
  decides: true,
});

/** The commands of a shell text that run if it ends with exit code 0, and whose output is the text's. */
function inText(text: string, { folder, here }: Command): readonly Started[] {
  const ownFolder = /\$\(dirname (?:-- )?"?\$(?:0|\{?BASH_SOURCE(?:\[0\]\})?)"?\)/g;
  const certain = new CertainCommands(folder, /^\s*set -\w*e|^#!.*\s-\w*e/m.test(text));
  certain.inList(readLists(text.replace(ownFolder, `/here/${here}`)), true);
  return certain.found;
}

/** Commands that only answer a question: what follows in their list may not run. */
const asks = /^(?:\[|\[\[|test|grep|command|which|type|hash|!|diff|cmp)$/;

class CertainCommands {
  readonly found: Started[] = [];
  private isOver = false;

  /** `stops`: the first failure ends the text (`-e`). */
  constructor(
    private folder: string,
    private readonly stops: boolean,
  ) {}

  /** `decides`: the status of the list is that of the text. */
  inList(list: readonly ListStatement[], decides: boolean): void {
    for (const [at, statement] of list.entries()) {
      if (this.isOver) return;
      this.inStatement(statement, this.stops || (decides && at === list.length - 1));
    }
  }

  private inStatement(statement: ListStatement, decides: boolean): void {
    const pipelines = certainOf(statement);
    let asked = false;
    for (const node of (pipelines ?? statement.pipelines).flat()) {
      const isCertain = pipelines !== undefined && !asked;
      if (node.is === 'command') {
        const argv = node.command.words.map(({ text }) => text);
        if (endsText(node.command)) this.isOver = true;
        else if (pipelines !== undefined && argv[0] === 'cd') this.folder = movedTo(this.folder, argv);
        else if (isCertain && isPlain(node.command) && argv.length > 0)
          this.found.push({ argv, folder: this.folder, decides });
        asked ||= asks.test(argv[0] ?? '');
      } else if (isCertain && (node.is === 'group' || node.is === 'subshell')) {
        const { folder } = this;
        this.inList(node.body, decides);
        if (node.is === 'subshell') this.folder = folder;
      } else this.isOver ||= shellCommandsOf(node).some(endsText);
      if (this.isOver) return;
    }
  }
}

/** The pipelines that run if the statement succeeds, without a failure that follows (`|| exit 1`); undefined where that is
 *  not certain. */
function certainOf({ pipelines, operators, end }: ListStatement): ListStatement['pipelines'] | undefined {
  const [last] = pipelines.at(-1) ?? [];
  const fails = operators.at(-1) === '||' && last?.is === 'command' && isFailure(last.command);
  const left = fails ? operators.slice(0, -1) : operators;
  return end === '&' || left.includes('||') ? undefined : pipelines.slice(0, left.length + 1);
}

const isFailure = ({ words }: ShellCommand): boolean =>
  /^(?:(?:exit|return) [1-9]\d*|false)$/.test(words.map(({ text }) => text).join(' '));

const isPlain = ({ piped, targets }: ShellCommand): boolean => !piped && targets.length === 0;

/** Whether nothing after a command runs, or its output goes elsewhere. */
function endsText({ words }: ShellCommand): boolean {
  const [first = '', code = '0'] = words.map(({ text }) => text);
  if (first === 'exec') return words.length === 1;
  return (first === 'exit' || first === 'return') && !/^[1-9]/.test(code);
}

/** The folder after `cd`; one that does not exist where it is not known. */
function movedTo(folder: string, [, to = '']: readonly string[]): string {
  if (to.startsWith('/here/')) return posix.normalize(to.slice('/here/'.length));
  return /^[\w.-][\w./-]*$/.test(to) ? posix.normalize(posix.join(folder, to)) : '?';
}

type Inner = { readonly runner: Omit<StartedRunner, 'decides'> } | { readonly commands: readonly Inside[] };
const nothing: Inner = { commands: [] };

/** What a command of these words starts. */
async function startedIn(argv: readonly string[], folder: string, read: Read): Promise<Inner> {
  const { at, program } = startedProgram(argv);
  const rest = argv.slice(at + 1);
  const there = (name: string) => read(posix.join(folder, name));
  const runner = await runnerOf(program, rest, there);
  if (runner !== undefined) return { runner };
  if (/^(?:npm|pnpm|yarn|bun)$/.test(program)) return inPackage(program, rest, folder, there);
  if (/^g?make$/.test(program)) return inMakefile(rest, folder, read);
  const file = /^(?:(?:ba|da|k|z)?sh|source|\.)$/.test(program) ? rest : [argv[at] ?? ''];
  return inScript(file, folder, there);
}

async function inScript(words: readonly string[], folder: string, read: Read): Promise<Inner> {
  const option = words.findIndex((word) => !/^-[aefhkmntuvxCEHPT]+$/.test(word));
  const name = words[option] ?? '';
  if (/^-\w*c$/.test(name)) return { commands: [{ command: words[option + 1] ?? '', folder, here: folder }] };
  if (!/^[\w./-]+$/.test(name) || name.startsWith('-') || !/[./]/.test(name)) return nothing;
  const text = await read(name);
  const isShell =
    text !== undefined && (/\.(?:ba|da|k|z)?sh$/.test(name) || /^#!.*\b(?:ba|da|k|z)?sh\b/.test(text));
  const here = posix.dirname(posix.join(folder, name));
  return isShell ? { commands: [{ command: text, folder, here }] } : nothing;
}

async function inPackage(
  program: string,
  words: readonly string[],
  folder: string,
  read: Read,
): Promise<Inner> {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const own = words
    .slice(0, end)
    .filter((word) => !/^(?:-s|--silent|-q|--quiet|--no-color|--color)$/.test(word));
  const isRun = /^(?:run|run-script)$/.test(own[0] ?? '');
  const [given = '', ...operands] = isRun ? own.slice(1) : own;
  const name = /^(?:t|tst)$/.test(given) ? 'test' : given;
  // Another option may lead to another package.
  if (name === '' || (program === 'npm' && own.some((word) => word.startsWith('-')))) return nothing;
  if (name.startsWith('-') || (program === 'npm' && !isRun && name !== 'test')) return nothing;
  const more = [...operands, ...words.slice(end + 1)];
  const script = settingsIn('package.json', await read('package.json')).get(`script ${name}`);
  if (script !== undefined)
    return { commands: [{ command: [script, ...more.map(quoteWord)].join(' '), folder, here: folder }] };
  return /^(?:yarn|pnpm)$/.test(program) && !isRun && name !== 'test'
    ? { commands: [{ command: [name, ...more], folder, here: folder }] }
    : nothing;
}

async function inMakefile(words: readonly string[], folder: string, read: Read): Promise<Inner> {
  const enters = words.indexOf('-C');
  const at = enters < 0 ? folder : posix.join(folder, words[enters + 1] ?? '.');
  const rest = words.filter((_, i) => enters < 0 || (i !== enters && i !== enters + 1));
  const others = rest.filter((word) => !/^(?:-s|--silent|-j\d*|--no-print-directory|-k)$/.test(word));
  if (others.some((word) => word.startsWith('-') || word.includes('='))) return nothing;
  for (const name of ['GNUmakefile', 'makefile', 'Makefile']) {
    const text = await read(posix.join(at, name));
    if (text === undefined) continue;
    if (/^\s*(?:ifeq|ifneq|ifdef|ifndef|include|-include|\.ONESHELL|SHELL)\b/m.test(text)) return nothing;
    const first = /^(?!\.)([\w./@+-]+)[^:=\n]*:(?!=)/m.exec(text)?.[1];
    const targets = others.length > 0 ? others : first === undefined ? [] : [first];
    const lines = linesOf(targets, makeSettings(name, text), new Set());
    return {
      commands: lines.map((line) => ({ command: withVariables(line, text), folder: at, here: at })),
    };
  }
  return nothing;
}

/** The lines of targets and of those that they need. */
const linesOf = (
  targets: readonly string[],
  rules: ReadonlyMap<string, string>,
  seen: Set<string>,
): readonly string[] =>
  targets.flatMap((target) => {
    const rule = rules.get(`target ${target}`);
    if (rule === undefined || seen.has(target)) return [];
    seen.add(target);
    return [...linesOf(targetsNeeded(rule).split(/\s+/), rules, seen), ...recipeOf(rule)];
  });

/** Variables of the makefile replaced. */
const withVariables = (line: string, text: string): string =>
  line
    .replace(/\$[({](\w+)[)}]/g, (whole, name: string) =>
      name === 'MAKE'
        ? 'make'
        : (new RegExp(`^${name}\\s*[:?]?=[ \\t]*(.*)$`, 'm').exec(text)?.[1]?.trim() ?? whole),
    )
    .replace(/\$\$/g, '$');
