/** Whether new contents of files keep the tests that exist, and what checks run. */
import type { Reached } from './check-commands.ts';
import { isOfChecks } from './check-files.ts';
import { isNamedAsCheck } from './check-words.ts';
import {
  concernsTests,
  isAmongPackages,
  isTestFile,
  runningTests,
  settingsIn,
  shadowFolder,
  testBlocksIn,
  testsIn,
} from './test-files.ts';
import { overrideIn, testFolders } from './test-overrides.ts';

/** A file that is going to be written; `before` is undefined for a new one. */
export type RewrittenFile = {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string;
};

/** What checks run. */
export type RunByChecks = {
  /** The commands of the checks, and all that these run in turn. */
  readonly reached: Reached;
  /** What the command that verifies the project names itself, without what its scripts run in turn. */
  readonly direct: Reached;
  /** The files of the project. */
  readonly paths: ReadonlySet<string>;
};

/** For each file of `changes` that loses or changes a test, or something that checks run, why; new tests and tests that moved
 *  to another of the files are no change. `mayChange` holds for files that the author of the change may treat as he
 *  likes. */
export function changedChecks(
  changes: readonly RewrittenFile[],
  run: RunByChecks,
  mayChange: (path: string) => boolean,
): readonly { readonly path: string; readonly why: string }[] {
  const now = { tests: new Set<string>(), rest: new Set<string>() };
  for (const { after } of changes) {
    const { tests, rest } = testBlocksIn(after);
    for (const test of tests) now.tests.add(test);
    for (const line of rest) now.rest.add(line);
  }
  const total = changes
    .filter(isTest)
    .reduce((sum, { before, after }) => sum + runningTests(after) - runningTests(before), 0);
  const folders = testFolders(run.paths);
  return changes.flatMap((change) => {
    const { path } = change;
    const override = overrideIn(change, run.paths, folders);
    // A promised product is no part of the checks.
    if (mayChange(path)) return override === undefined || isOfChecks(path) ? [] : [{ path, why: override }];
    const why = inTests(change, now, total) ?? inChecks(change, run) ?? override;
    return why === undefined ? [] : [{ path, why }];
  });
}

const isTest = ({ path, before, after }: RewrittenFile): boolean =>
  isTestFile(path) || (path.endsWith('.rs') && testsIn(before).count + testsIn(after).count > 0);

function inTests(
  change: RewrittenFile,
  now: { readonly tests: ReadonlySet<string>; readonly rest: ReadonlySet<string> },
  total: number,
): string | undefined {
  const { path, before, after } = change;
  if (before === undefined || !isTest(change)) return undefined;
  const { tests, rest } = testBlocksIn(before);
  const gone = tests.find((test) => !now.tests.has(test));
  if (gone !== undefined) return `this test is gone or changed: ${firstLine(gone)}`;
  if (total < 0 && runningTests(after) < runningTests(before)) return 'fewer of its tests run than before';
  if (!isTestFile(path)) return undefined;
  const lost = rest.find(
    (line) =>
      (asserts.test(line) || isNeeded(line, after)) && ![...now.rest].some((other) => extends_(other, line)),
  );
  return lost === undefined
    ? undefined
    : `this line, which its tests need, is gone or changed: ${firstLine(lost)}`;
}

const firstLine = (text: string): string => {
  const line = text.split('\n')[0] ?? '';
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
};

const asserts = /\b(?:assert\w*|expect\w*|should|fail|raise|throw|panic|exit)\b/i;
const imports = /^(?:import|from|use|using|require|require_relative|#include|source|\.|load)\b|\brequire\(/;

/** Whether a line imports something that the text still names. */
const isNeeded = (line: string, text: string): boolean =>
  imports.test(line) &&
  wordsOf(line.replace(/(['"`]).*?\1|\bfrom\s+[\w.]+(?=\s+import)/g, '')).some(
    (word) => !importWords.has(word) && new RegExp(`(?<![\\w$])${word}(?![\\w$])`).test(text),
  );
const importWords = new Set([
  'import',
  'from',
  'use',
  'using',
  'require',
  'const',
  'let',
  'var',
  'as',
  'type',
]);

/** Whether a line has all words of another one, in their order. */
function extends_(line: string, other: string): boolean {
  if (line === other) return true;
  if (!imports.test(other) || !imports.test(line)) return false;
  let at = 0;
  const words = wordsOf(other);
  for (const word of wordsOf(line)) if (word === words[at]) at++;
  return at === words.length;
}
const wordsOf = (line: string): readonly string[] => line.match(/[\w$]+/g) ?? [];

/** Changed scripts and settings that checks run, and files that are found in place of a program or module of a check. */
function inChecks(
  { path, before, after }: RewrittenFile,
  { reached, direct }: RunByChecks,
): string | undefined {
  if (isAmongPackages(path)) return 'programs of checks are found there';
  if (before === undefined && shadowFolder(path) !== undefined)
    return 'a test runner would load it in place of the real module';
  if (before === undefined || before === after) return undefined;
  const isRun = direct.runs(path) || (reached.runs(path) && isNamedAsCheck(path));
  if (isRun && testsIn(before).names.length === 0) return 'the checks run this file';
  const [was, is] = [settingsIn(path, before), settingsIn(path, after)];
  const changed = [...new Set([...was.keys(), ...is.keys()])].find(
    (name) =>
      was.get(name) !== is.get(name) &&
      (reached.settings.has(name) || concernsTests(name)) &&
      // A new script alone is no change; one that runs before or after an existing script is.
      (was.has(name) || was.has(name.replace(/ (?:pre|post)/, ' '))),
  );
  if (changed === undefined) return undefined;
  return changed === 'file' ? 'it decides how tests run' : `its ${changed} decides how the checks run`;
}
