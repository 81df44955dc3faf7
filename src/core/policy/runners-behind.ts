/** The test runners that a command starts for certain, through package.json, makefiles and shell scripts, and whose output it leaves
 *  alone. What may or may not run (in a condition, a loop, a function) does not count. */
import { posix } from 'node:path';
import type { CheckCommand } from './check-words.ts';
import { readShell, type ShellCommand } from './shell.ts';
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

/** Words of commands after which another command may not run, or that begin and end what may not run. */
const opening = /^(?:if|case|for|while|until|select)$/;
const closing = /^(?:fi|esac|done)$/;
const asks = /^(?:\[|\[\[|test|grep|command|which|type|hash|!|diff|cmp)$/;
/** A failure that follows is the failure of the text. */
const orFails = /\|\|\s*(?:exit\s+[1-9]\d*|false|return\s+[1-9]\d*)\b/g;

/** The commands of a shell text that run if it ends with exit code 0, and whose output is the text's. */
function inText(text: string, { folder, here }: Command): readonly Started[] {
  const found: Started[] = [];
  let at = folder;
  let depth = 0;
  if (text.includes('<<')) return [];
  const lines = text.replace(/\\\n/g, ' ').split('\n');
  const last = lines.findLastIndex((line) => !/^\s*(?:#.*)?$/.test(line));
  const stops = /^\s*set -\w*e|^#!.*\s-\w*e/m.test(text);
  for (const [nth, line] of lines.entries()) {
    const plain = withoutSubstitutions(line, here).replace(orFails, '');
    if (!isWhole(plain)) return found;
    const { commands, operators } = readShell(plain);
    const texts = commands.map((one) => one.words.map((word) => word.text));
    if (/^\s*(?:function\s+)?[\w-]+\s*\(\)/.test(plain)) depth++;
    const opened = texts.flat().filter((word) => opening.test(word)).length;
    const closed = texts.flat().filter((word) => closing.test(word)).length;
    depth += opened;
    const isCertain = depth === 0 && !operators.some((one) => one === '||' || one === '&');
    for (const [index, argv] of texts.entries()) {
      if (endsText(argv, commands[index])) return found;
      if (!isCertain || argv.length === 0) continue;
      if (argv[0] === 'cd') at = movedTo(at, argv);
      else if (isPlain(commands[index]) && !texts.slice(0, index).some(([first = '']) => asks.test(first)))
        found.push({
          argv,
          folder: at,
          decides: stops || (nth === last && (index === texts.length - 1 || !operators.includes(';'))),
        });
    }
    // A folder that a group enters is left with it.
    if (plain.includes('(')) at = folder;
    depth = Math.max(0, depth - closed - (/(?:^|[;\s])\}\s*;?\s*$/.test(plain) ? 1 : 0));
  }
  return found;
}

function withoutSubstitutions(line: string, here: string): string {
  let text = line.replace(/\$\(dirname (?:-- )?"?\$(?:0|\{?BASH_SOURCE(?:\[0\]\})?)"?\)/g, `/here/${here}`);
  text = text.replace(/`[^`]*`/g, '?');
  for (let left = 10; left > 0 && /\$\([^()]*\)/.test(text); left--)
    text = text.replace(/\$\([^()]*\)/g, '?');
  return text;
}

/** Whether each quote of the line is closed in it. */
const isWhole = (line: string): boolean =>
  !/['"]/.test(
    line
      .replace(/\\./g, '')
      .replace(/'[^']*'|"[^"]*"/g, '')
      .replace(/(?:^|\s)#.*/, ''),
  );

const isPlain = (command: ShellCommand | undefined): boolean =>
  command !== undefined && !command.piped && command.targets.length === 0;

/** Whether nothing after a command runs, or its output goes elsewhere. */
function endsText([first = '', code = '0']: readonly string[], command: ShellCommand | undefined): boolean {
  if (first === 'exec') return command?.words.length === 1;
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
    const targets = settingsIn('Makefile', text);
    const first = firstTarget(targets, text);
    const wanted =
      others.length > 0 ? others.map((word) => `target ${word}`) : first === undefined ? [] : [first];
    const lines = wanted.flatMap((key) => recipeOf(key, targets, text, new Set()));
    return { commands: lines.map((command) => ({ command, folder: at, here: at })) };
  }
  return nothing;
}

/** The target whose rule comes first. */
function firstTarget(targets: ReadonlyMap<string, string>, text: string): string | undefined {
  const places = [...targets.keys()]
    .filter((key) => /^target [^.]/.test(key))
    .map((key) => ({ key, at: text.indexOf(ruleOf(targets.get(key))) }));
  return places.sort((a, b) => a.at - b.at)[0]?.key;
}

/** The first line of a target that is no mark such as `.PHONY`. */
const ruleOf = (block = ''): string => block.split('\n').find((line) => line.includes(':')) ?? block;

/** The lines of a target and of the targets that it needs, variables of the makefile replaced. */
function recipeOf(
  key: string,
  targets: ReadonlyMap<string, string>,
  text: string,
  seen: Set<string>,
): readonly string[] {
  const block = targets.get(key);
  if (block === undefined || seen.has(key)) return [];
  seen.add(key);
  const whole = block.replace(/\\\n/g, ' ');
  const lines = whole.split('\n');
  const head = ruleOf(whole);
  const needs = head
    .slice(head.indexOf(':') + 1)
    .replace(/[#;].*/, '')
    .split(/\s+/);
  const own = lines.filter((line) => line.startsWith('\t')).map((line) => line.trim().replace(/^[@+-]+/, ''));
  return [
    ...needs.flatMap((need) => recipeOf(`target ${need}`, targets, text, seen)),
    ...own.map((line) => withVariables(line, text)),
  ];
}

const withVariables = (line: string, text: string): string =>
  line
    .replace(/\$[({](\w+)[)}]/g, (whole, name: string) =>
      name === 'MAKE'
        ? 'make'
        : (new RegExp(`^${name}\\s*[:?]?=[ \\t]*(.*)$`, 'm').exec(text)?.[1]?.trim() ?? whole),
    )
    .replace(/\$\$/g, '$');
