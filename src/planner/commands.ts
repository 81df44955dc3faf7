/** What can be said of the commands that orders are accepted by, from what they would run: programs in them must be
 *  grammatical, and what they need must be there by then. */
import { isBuiltin } from 'node:module';
import { normalizePath } from '../model/work-order.ts';
import { plannedCommandProblem } from '../policy/commands.ts';
import { shown } from '../policy/path-rules.ts';
import { invocation } from '../policy/programs.ts';
import { ByThen, type Npm } from './by-then.ts';
import { type Call, readCall } from './call.ts';
import { isVerifyCommand } from './chain.ts';
import { operators, quote } from './check.ts';
import type { FindingCode, PlanFinding } from './finding.ts';
import { readJavaScript } from './javascript.ts';
import { ordinaryModules, type PythonPrograms } from './python.ts';
import { shellGrammarProblem } from './shell-grammar.ts';
import { shellMeaning } from './shell-meaning.ts';
import { type CommandView, type OrderView, promised } from './view.ts';

/** Findings about every order's commands, in the orders' sequence. Commands that cannot be split have been reported
 *  as that and are not looked at. */
export function checkCommands(
  orders: readonly OrderView[],
  repoFiles: Iterable<string>,
  npm: Npm | undefined,
  programs: PythonPrograms,
): PlanFinding[] {
  const now: Now = { there: new ByThen(repoFiles, npm), programs, hasGo: false, hasCargo: false };
  return orders.flatMap((order) => {
    const own = promised(order);
    for (const path of own) now.there.add(path);
    if ([...own, ...order.allowed].includes('package.json')) now.there.openManifest();
    return order.commands.flatMap(({ text, words, python }) =>
      words === undefined
        ? []
        : checkCommand({ text, words, isChecked: python !== undefined }, now).map(
            ([code, message]): PlanFinding => ({
              code,
              wo_id: order.id ?? '?',
              field: 'acceptance_commands',
              message: `${quote(text)} ${message}`,
            }),
          ),
    );
  });
}

/** What is there when a command runs, and what an earlier command may have made. */
type Now = {
  readonly there: ByThen;
  readonly programs: PythonPrograms;
  hasGo: boolean;
  hasCargo: boolean;
};
type Command = Pick<CommandView, 'text'> & {
  readonly words: readonly string[];
  /** It is a `python -c` program in the form that has rules of its own. */
  readonly isChecked: boolean;
};
/** Longer ones are not looked into. */
const longestCommand = 100_000;
/** The message reads on after the command. */
type Found = readonly [code: FindingCode, message: string];

function checkCommand(command: Command, now: Now): Found[] {
  const { text, words } = command;
  if (text.length > longestCommand) {
    return [['E202', `is longer than ${longestCommand} characters, more than systems take`]];
  }
  const { at } = invocation(words);
  const program = words[at] ?? '';
  // `env -C folder`: where the program looks for its files is not here.
  if (words.slice(0, at).some((word) => /^-(?:[iv0EHn]*[CD]|-chdir(?:=|$))/.test(word)))
    return checkForm(text, words);
  const calls = readCall(program.slice(program.lastIndexOf('/') + 1), words.slice(at + 1));
  const found = calls.flatMap((call) => checkCall(call, command, now));
  // Whether the verify script is there is what the contract is for.
  if (isVerifyCommand(words)) return checkForm(text, words);
  if (program.includes('/') && !program.startsWith('/') && !now.there.file(program)) {
    found.push(['W206', `runs ${program}, which is not there by then`]);
  }
  return [...checkForm(text, words), ...found];
}

/** What would mean something else to a shell, and what is refused when it is to be run. */
function checkForm(text: string, words: readonly string[]): Found[] {
  const { operators: meant, expansions } = shellMeaning(text);
  const found: Found[] = [];
  const isReported = words.some((word) => operators.has(word)) || isVerifyCommand(words);
  if (!isReported && meant.length > 0) {
    found.push(['E201', `has ${[...new Set(meant)].join(' and ')}, which only a shell understands`]);
  } else if (!isReported) {
    const refused = plannedCommandProblem(text);
    if (refused !== undefined)
      found.push(['E202', `would be refused when it is to run: ${reason(refused, text)}`]);
  }
  if (expansions.length > 0) {
    found.push([
      'W201',
      `has ${expansions.join(' and ')} outside quotes, which stays as it is without a shell`,
    ]);
  }
  return found;
}

/** A refusal without what it says of every command, and without the command itself. */
function reason(refusal: string, command: string): string {
  const short = refusal.replace(/^verification command rejected(?: by guardrail)?: /, '');
  const tail = `: ${shown(command)}`;
  return short.endsWith(tail) ? short.slice(0, -tail.length) : short;
}

function checkCall(call: Call, { isChecked }: Command, now: Now): Found[] {
  const { there } = now;
  switch (call.do) {
    case 'javascript': {
      const { problem, imports } = readJavaScript(call.text, call.kind);
      if (problem !== undefined) return [['E203', `is not valid JavaScript: ${problem}`]];
      return imports.flatMap(({ name, how }) => checkImport(name, how, there));
    }
    case 'python': {
      if (isChecked) return [];
      const program = now.programs.get(call.text);
      if (program?.kind === 'invalid') return [['E207', `is ${program.problem}`]];
      if (program?.kind === 'unchecked') return [['W102', `was not checked: ${program.why}`]];
      return (program?.imports ?? [])
        .filter((name) => !ordinaryModules.has(name.split('.')[0] ?? ''))
        .map((name) => [name, name.replaceAll('.', '/')] as const)
        .filter(([, path]) => !there.file(`${path}.py`) && !there.file(`${path}/__init__.py`))
        .map(([name]): Found => ['W208', `imports ${name}, which is not there by then`]);
    }
    case 'shell': {
      const problem = shellGrammarProblem(call.text);
      if (problem !== undefined) return [['E204', `is not a valid ${call.shell} program: ${problem}`]];
      return !call.stops && hidesFailures(call.text)
        ? [['W202', 'has several commands in one, and only the last one decides whether it failed']]
        : [];
    }
    case 'file':
      return fileIsThere(call, there)
        ? []
        : [
            [
              call.by === 'node' || call.by === 'go' ? 'W205' : 'W206',
              `runs ${call.path}, which is not there by then`,
            ],
          ];
    case 'go init':
      now.hasGo = true;
      return [];
    case 'go':
      return now.hasGo || there.above(call.folder, 'go.mod') || there.above(call.folder, 'go.work')
        ? []
        : [['E205', `cannot ${call.verb} anything: there is no go.mod by then`]];
    case 'cargo init':
      now.hasCargo = true;
      return [];
    case 'cargo': {
      const manifest = call.manifest ?? 'Cargo.toml';
      return now.hasCargo || there.file(manifest)
        ? []
        : [['E206', `needs ${manifest}, which is not there by then`]];
    }
    case 'npx': {
      const names = [...call.packages, ...(packagesOf.get(call.tool) ?? []), call.tool].map(packageName);
      return names.some((name) => there.tool(name))
        ? []
        : [['W207', `needs ${call.tool} from the network: the repository does not declare it`]];
    }
    default:
      return unreachable(call);
  }
}

function fileIsThere({ path, by }: Call & { do: 'file' }, there: ByThen): boolean {
  // Absolute paths have a finding of their own.
  if (path.startsWith('/') || there.file(path)) return true;
  // A folder stands for what is in it.
  if (by === 'node') return there.module(path, 'require') || there.folder(path);
  return by.startsWith('py') && there.folder(path);
}

function checkImport(name: string, how: 'require' | 'import', there: ByThen): Found[] {
  if (isBuiltin(name) || /^(?:node|data|file|https?):|^[/#]|\\/.test(name)) return [];
  if (/^\.{1,2}(?:\/|$)/.test(name)) {
    const path = normalizePath(name.replace(/[?#].*$/, ''));
    if (there.module(path, how)) return [];
    return [['W203', `${how}s ${name}, which is not there by then`]];
  }
  return there.package(packageName(name))
    ? []
    : [['W204', `${how}s the package ${name}, which nothing declares`]];
}

/** `@scope/name/part@1` → `@scope/name`. */
const packageName = (name: string): string => /^(?:@[^/]+\/)?[^/@]+/.exec(name)?.[0] ?? name;

/** Packages whose programs have another name than they. */
const packagesOf: ReadonlyMap<string, readonly string[]> = new Map([
  ['tsc', ['typescript']],
  ['biome', ['@biomejs/biome']],
  ['babel', ['@babel/cli']],
  ['swc', ['@swc/cli']],
  ['webpack', ['webpack-cli']],
  ['playwright', ['@playwright/test']],
  ['ng', ['@angular/cli']],
  ['nest', ['@nestjs/cli']],
  ['tailwindcss', ['@tailwindcss/cli']],
  ['depcruise', ['dependency-cruiser']],
]);

/** Whether a failure in the middle of a shell program can go unnoticed. Commands joined by `&&` stop at the first. */
function hidesFailures(text: string): boolean {
  if (/^\s*set\s+-(?:\w*e|\w*o\s+errexit\b)/.test(text)) return false;
  const joined = text
    .trim()
    .replace(/\n/g, ';')
    .replace(/;$/, '')
    // What a keyword follows is a part of one command.
    .replace(/;;&?|;&/g, ' ')
    .replace(/;\s*(then|elif|else|fi|do|done|esac|\})(?=[\s;]|$)/g, ' $1');
  const { operators: joints } = shellMeaning(joined);
  return joints.some((joint) => joint === ';' || joint === '|' || joint === '||' || joint === '&');
}

const unreachable = (call: never): never => {
  throw new Error(`Internal: no check for ${JSON.stringify(call)}`);
};
