/** Findings about changes of tests and of the files that run them, each with its difference. */
import { countedItems } from '../../core/amounts.ts';
import { reachedBy } from '../../core/policy/check-commands.ts';
import type { CheckCommand } from '../../core/policy/check-words.ts';
import { isMakefile, makeDirectives } from '../../core/policy/makefile.ts';
import {
  concernsTests,
  hasCommands,
  isInstalled,
  isTestFile,
  runningTests,
  settingsIn,
  shadowFolder,
  testsIn,
} from '../../core/policy/test-files.ts';
import { testFolders } from '../../core/policy/test-overrides.ts';
import type { AuditFinding } from '../../core/records/audit.ts';
import type { RunRecord } from '../../core/records/visit.ts';
import type { Snapshot, Snapshots } from '../../workspace/snapshot.ts';
import { commandsOf } from './evidence.ts';
import { futureStamps, inFuture, replacedBy, timeIn } from './replaced.ts';
import type { About } from './watched.ts';

/** A file before and after one execution or commit. */
export type TestChange = {
  readonly path: string;
  readonly before: Buffer | undefined;
  readonly after: Buffer | undefined;
  readonly place: Pick<AuditFinding, 'node' | 'visit' | 'where'>;
  /** Whether the work order, or the node's `allowed_write_paths`, names the file. */
  readonly named: boolean;
  /** Whether the work order allows changes of the files that run its checks. */
  readonly mayChange: boolean;
  /** Whether the file has its original content at the end of the run. */
  readonly restored: boolean;
  readonly by: 'agent' | 'tool';
  /** The end of the execution, and the file's time then. */
  readonly at?: string | undefined;
  readonly mtimeMs?: number | undefined;
};

type Text = Omit<TestChange, 'before' | 'after'> & {
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly head: Buffer | undefined;
};

/** The most bytes of a file that is read; larger ones are not written by hand. */
const largest = 16 * 1024 * 1024;
/** The most characters of a difference. */
const longest = 2000;

/** The findings for the changes of a run's executions, or of its commits, oldest first; changed test files come first
 *  among the warnings. */
export function tamperingIn(changes: readonly TestChange[], about: About): AuditFinding[] {
  const texts = changes.flatMap(({ before, after, ...rest }): Text[] =>
    (before?.length ?? 0) + (after?.length ?? 0) > largest
      ? []
      : [{ ...rest, before: before?.toString(), after: after?.toString(), head: after?.subarray(0, 16) }],
  );
  const folders = testFolders(about.start);
  return [
    ...inTests(texts, about),
    ...texts.flatMap((one) => inSettings(one, about, folders)),
    ...(about.hadChecks ? replacements(texts, about, folders) : []),
  ];
}

/** What replaces programs, bytecode, results of make and parts of other tests, one for each installed package or folder. A later
 *  execution may have removed it; the checks before ran with it. */
function replacements(texts: readonly Text[], about: About, folders: ReadonlySet<string>): AuditFinding[] {
  const seen = new Set<string>();
  const found = texts.flatMap((one): AuditFinding[] => {
    const replaced = replacedBy(one, about, folders);
    const key = `${replaced?.code} ${replaced?.why} ${packageOf(one.path)}`;
    if (replaced === undefined || seen.has(key)) return [];
    seen.add(key);
    return [finding({ ...one, restored: false }, replaced.code, !one.mayChange, replaced.why)];
  });
  const dated = about.future.map((path) => finding({ ...dateOnly, path }, 'check-skipped', true, inFuture));
  return [...found, ...dated];
}

const packageOf = (path: string): string =>
  /^.*?(?:node_modules|site-packages)\/[^/]+/.exec(path)?.[0] ?? folderOf(path);

/** A file of which only the date is known. */
const dateOnly: Omit<Text, 'path'> = {
  before: '',
  after: '',
  head: undefined,
  place: { node: null, visit: null, where: '' },
  named: false,
  mayChange: false,
  restored: false,
  by: 'tool',
};

/** Removed tests and changed test files. */
function inTests(texts: readonly Text[], { start, reached }: About): AuditFinding[] {
  const files = texts.filter(isTest);
  const counts = files.map(({ before, after, restored }) =>
    restored ? 0 : runningTests(after) - runningTests(before),
  );
  const total = counts.reduce((sum, count) => sum + count, 0);
  const now = new Set(files.flatMap(({ after }) => testsIn(after).names));
  const contents = new Set(texts.flatMap(({ after }) => after ?? []));
  return files.flatMap((one, at): AuditFinding[] => {
    const { path, before, after } = one;
    if (before === undefined || !start.has(path) || settingsIn(path, before).size > 0) return [];
    const { names } = testsIn(before);
    const isMoved = names.length === 0 ? contents.has(before) : names.every((name) => now.has(name));
    if (after === undefined && !isMoved)
      return [
        finding(
          one,
          'test-file-deleted',
          true,
          `the test file is gone (it declares ${countedItems(names.length, 'test')})`,
        ),
      ];
    if (total < 0 && (counts[at] ?? 0) < 0) {
      const why = `${countedItems(-(counts[at] ?? 0), 'test')} fewer than before, and no other changed file has them`;
      return [finding(one, 'tests-removed', true, why)];
    }
    // A helper or a script without test declarations is handled with the files that commands run.
    if (names.length === 0 && reached.runs(path)) return [];
    return [
      finding(
        one,
        'test-changed',
        false,
        after === undefined ? 'the tests were moved' : 'the test file was changed',
      ),
    ];
  });
}

const isTest = ({ path, before, after }: Text): boolean =>
  isTestFile(path) || (path.endsWith('.rs') && testsIn(before).count + testsIn(after).count > 0);

/** Changed commands, hooks and settings, scripts that checks run, and modules that replace those of a test runner. */
function inSettings(one: Text, about: About, folders: ReadonlySet<string>): AuditFinding[] {
  const { path, before, after, named, mayChange } = one;
  const isOutside = folders.size > 0 && !named;
  const shadow = before === undefined ? shadowFolder(path) : undefined;
  if (shadow !== undefined && folders.has(shadow))
    return [
      finding(
        one,
        'runner-shadowed',
        isOutside,
        'a test runner would load this module in place of the real one',
      ),
    ];
  const isOld = before !== undefined && (one.place.node === null || about.start.has(path));
  if (about.reached.includes(path) && !hasCommands(path))
    return [finding(one, 'check-changed', !mayChange, "a makefile of the run's checks includes this file")];
  if (about.reached.runs(path) && testsIn(before).count === 0 && (isOld || folders.size > 0))
    return [finding(one, 'check-changed', isOld && !mayChange, "the run's checks run this file")];
  // A new file of this kind applies to the tests in its folder and below.
  const isNextTo =
    isMakefile(path) && [...about.start].some((old) => isMakefile(old) && folderOf(old) === folderOf(path));
  if (!isOld && one.place.node === null) return [];
  if (!isOld && !folders.has(folderOf(path)) && !isNextTo) return [];
  const [was, is] = [settingsIn(path, before), settingsIn(path, after)];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((name): AuditFinding[] => {
    const isRun = about.reached.settings.has(name);
    if (was.get(name) === is.get(name) || (!isRun && !concernsTests(name))) return [];
    // A new script alone is not a change; one that runs before or after an existing script is.
    const isChange =
      was.has(name) ||
      was.has(name.replace(/ (?:pre|post)/, ' ')) ||
      name === makeDirectives ||
      name.startsWith('variable ');
    const isError = isOutside || (isRun && (isNextTo || (isOld && isChange)) && !mayChange);
    const what = name === 'file' ? 'this file decides' : `${name} decides`;
    const isPart = name === makeDirectives || name.startsWith('variable ');
    const verb = isPart ? 'use' : 'run';
    const why = isRun ? `the run's checks ${verb} ${isPart ? 'its ' : ''}${name}` : `${what} how tests run`;
    return [finding({ ...one, ...sides(was.get(name), is.get(name)) }, 'check-changed', isError, why)];
  });
}

const sides = (before: string | undefined, after: string | undefined) => ({
  before: before ?? '',
  after: after ?? '',
});

const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/');

const fixes: Readonly<Record<string, string>> = {
  'tests-removed': 'put the tests back, or remove them yourself before the run',
  'test-file-deleted': 'put the file back, or remove it yourself before the run',
  'test-changed': 'read the difference: an assertion may say less than before',
  'check-changed':
    'undo the change; if it is wanted, name the file in allowed_files with the line "may_change_checks" in the notes of the order, or make the change before the run',
  'check-skipped':
    'remove the file, or declare the target in .PHONY; let the check make what it needs, or a tool before it',
  'tests-overridden': 'leave the machinery of tests alone: test the product unchanged',
  'runner-shadowed': 'remove or restore the file; a product module needs another name',
};

function finding(one: Text, code: string, isError: boolean, why: string): AuditFinding {
  const { path, before = '', after = '', place, restored } = one;
  const severity = isError && !restored ? 'error' : 'warning';
  const removed = linesWithout(before, after);
  const added = linesWithout(after, before);
  const line = after.split('\n').indexOf(added[0] ?? '');
  return {
    code,
    severity,
    sure: severity === 'warning' ? 'possible' : code === 'test-file-deleted' ? 'certain' : 'likely',
    ...place,
    where: place.where === '' ? `workspace/${path}` : `${place.where}: ${path}`,
    path,
    line: added.length === 0 || line < 0 ? null : line + 1,
    message: `${why}${restored ? ' (restored by the end of the run)' : ''}`,
    fix: fixes[code] ?? '',
    before: cut(removed.join('\n')),
    after: cut(added.join('\n')),
  };
}

/** The lines of a text that are missing in another one, in order. */
function linesWithout(text: string, other: string): string[] {
  const counts = new Map<string, number>();
  for (const line of other.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
  return text.split('\n').filter((line) => {
    const left = counts.get(line) ?? 0;
    counts.set(line, left - 1);
    return left <= 0 && line.trim() !== '';
  });
}

const cut = (text: string): string => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);

/* The files that the checks of a run execute, and the tests at its start. */

/** The most bytes of a script that is searched for further files. */
const largestCheck = 1024 * 1024;

/** Follows the commands of tools and verifications through the files at the start and at the end of the run. */
export async function aboutChecks(
  records: readonly RunRecord[],
  start: Snapshot,
  end: Snapshot,
  snapshots: Snapshots,
  workspace: string,
): Promise<About> {
  const read = async (path: string, trees = [start, end]): Promise<string | undefined> => {
    for (const { tree } of trees) {
      const { hash, size = 0 } = tree.get(path) ?? {};
      if (hash !== undefined) return size > largestCheck ? '' : (await snapshots.read(hash)).toString();
    }
    return undefined;
  };
  const texts = new Map<string, string>();
  for (const snapshot of [end, start])
    for (const path of snapshot.tree.keys())
      if (hasCommands(path) && !isInstalled(path)) texts.set(path, (await read(path, [snapshot])) ?? '');
  const follow = (commands: readonly CheckCommand[]) => reachedBy(commands, texts, (path) => read(path));
  const reached = await follow(records.flatMap(commandsOf));
  const paths = new Set(start.tree.keys());
  const isRun = (path: string): boolean =>
    isTestFile(path) ||
    reached.runs(path) ||
    [...settingsIn(path, hasCommands(path) ? texts.get(path) : '').keys()].some(
      (name) => name !== makeDirectives && reached.settings.has(name),
    );
  const [began = '', ended = began] = [records[0]?.at, records.at(-1)?.at];
  return {
    start: paths,
    reached,
    reachedOf: ({ commands }) => follow(commands),
    hadChecks: [...paths].some(isRun),
    began,
    timeOf: (path) => timeIn(workspace, path),
    future: futureStamps(workspace, reached, ended),
  };
}
