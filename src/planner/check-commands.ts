/** Checks the words of acceptance commands: whether they work without a shell, whether a guardrail would refuse them, and
 *  whether programs in them are syntactically valid. */
import { normalizePath } from '../core/orders/work-order.ts';
import { plannedCommandProblem, shownWord } from '../core/policy/commands.ts';
import { assignedName, programTexts } from '../core/policy/programs.ts';
import { readShell } from '../core/policy/shell.ts';
import type { PythonProgram, PythonPrograms } from '../platform/python.ts';
import { operators, quote } from './check-order.ts';
import { isPythonModule, isVerifyCommand } from './check-plan.ts';
import type { FindingCode, PlanFinding } from './findings.ts';
import { type JavaScriptKind, readJavaScript } from './javascript.ts';
import { type CommandView, type OrderView, promised } from './order-view.ts';

/** The message continues after the command. */
type Found = readonly [code: FindingCode, message: string];

/** Findings about every order's commands, in order. Commands that cannot be split into words are reported elsewhere and
 *  skipped. `repoFiles`: the files that exist before the first order; `python`: the checks of the Python programs in the
 *  commands. */
export function checkCommands(
  orders: readonly OrderView[],
  repoFiles: Iterable<string>,
  python: PythonPrograms,
): PlanFinding[] {
  const files = new Set(repoFiles);
  return orders.flatMap((order) => {
    for (const path of promised(order)) files.add(path);
    return order.commands.flatMap((command) =>
      checkCommand(command, files, python).map(
        ([code, message]): PlanFinding => ({
          code,
          wo_id: order.id ?? '?',
          field: 'acceptance_commands',
          message: `${quote(command.text)} ${message}`,
        }),
      ),
    );
  });
}

/** Longer commands are not checked. */
const longestCommand = 100_000;

function checkCommand(
  { text, words, python }: CommandView,
  files: ReadonlySet<string>,
  known: PythonPrograms,
): Found[] {
  if (words === undefined) return [];
  if (text.length > longestCommand)
    return [['E202', `is longer than ${longestCommand} characters, more than systems take`]];
  // Programs of `python -c` are checked with the order itself.
  const programs = python === undefined ? programTexts(words) : [];
  const found = programs.flatMap(({ language, text: program }) => {
    if (language === 'javascript') return checkJavaScript(program, inputType(words), files);
    return language === 'python' ? checkPython(known.get(program), files) : [];
  });
  return [...checkForm(text, words), ...found];
}

/** Shell built-ins that are not programs, or do not have their effect as programs. */
const shellsOwn = new Set(
  '! : . [[ { alias case cd eval exec exit export for if popd pushd set source trap ulimit umask unset until while'.split(
    ' ',
  ),
);

/** Words with another meaning in a shell, and commands that a guardrail refuses. */
function checkForm(text: string, words: readonly string[]): Found[] {
  const read = readShell(text.trim());
  const shellWords = read.commands.flatMap((command) => command.words);
  const first = words.find((word) => assignedName(word) === undefined) ?? '';
  const meant = [
    ...(shellsOwn.has(first) ? [first] : []),
    ...read.operators,
    // A word that is only a substitution in double quotes is not the text of a program.
    ...shellWords.flatMap(({ raw }) => (/^"(?:\$\([\s\S]*\)|`[\s\S]*`)"$/.test(raw) ? [raw] : [])),
  ];
  const expanded = shellWords.filter(({ bare }) =>
    /\$[A-Za-z_{\d@*#?]|[*?]|\[[^\]]+\]|\{[^{}]*,[^{}]*\}/.test(bare),
  );
  const found: Found[] = [];
  const isReported = words.some((word) => operators.has(word)) || isVerifyCommand(words);
  const refused = isReported || meant.length > 0 ? undefined : plannedCommandProblem(text);
  if (!isReported && meant.length > 0)
    found.push(['E201', `has ${[...new Set(meant)].join(' and ')}, which only a shell understands`]);
  if (refused !== undefined)
    found.push(['E202', `would be refused when it is to run: ${reason(refused, text)}`]);
  if (expanded.length > 0) {
    const named = expanded.map(({ raw }) => raw).join(' and ');
    found.push(['W201', `has ${named} outside quotes, which nothing expands without a shell`]);
  }
  return found;
}

/** The reason of a refusal without the common prefix and without the command. */
function reason(refusal: string, command: string): string {
  const short = refusal.replace(/^verification command rejected(?: by guardrail)?: /, '');
  const tail = `: ${shownWord(command)}`;
  return short.endsWith(tail) ? short.slice(0, -tail.length) : short;
}

const inputType = (words: readonly string[]): JavaScriptKind => {
  const given = (['module', 'commonjs'] as const).find((type) => words.includes(`--input-type=${type}`));
  return given ?? 'either';
};

function checkJavaScript(text: string, kind: JavaScriptKind, files: ReadonlySet<string>): Found[] {
  const { problem, imports } = readJavaScript(text, kind);
  if (problem !== undefined) return [['E203', `is not valid JavaScript: ${problem}`]];
  return imports
    .filter(({ name, how }) => isMissing(name, how, files))
    .map(({ name, how }) => ['W203', `${how}s ${name}, which is not there by then`]);
}

/** Whether the file of a relative import is missing. `require` tries extensions; `import` needs the full name. */
function isMissing(name: string, how: 'require' | 'import', files: ReadonlySet<string>): boolean {
  if (!/^\.{1,2}(?:\/|$)/.test(name)) return false;
  const path = normalizePath(name.replace(/[?#].*$/, ''));
  const endings = how === 'import' ? [''] : ['', '.js', '.json', '.node', '/index.js', '/package.json'];
  return !endings.some((ending) => files.has(`${path}${ending}`));
}

function checkPython(program: PythonProgram | undefined, files: ReadonlySet<string>): Found[] {
  if (program?.kind === 'invalid') return [['E207', `is ${program.problem}`]];
  if (program?.kind === 'unchecked') return [['W102', `was not checked: ${program.why}`]];
  const missing = (program?.imports ?? []).filter((name) => !isPythonModule(name, files));
  return missing.map((name) => ['W208', `imports ${name}, which is not there by then`]);
}
