/** Settings that determine how tests run: scripts, targets, runner settings, hooks, and modules that a runner would
 *  load instead of the real ones. */
import { isMakefile, makeDirectives, makeSettings } from './makefile.ts';

const whole =
  /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.cjs|bunfig\.toml|conftest\.py|pytest\.ini|\.coveragerc|noxfile\.py|(?:site|user)customize\.py|[^/]+\.pth|(?:vitest|jest|playwright|ava|cypress|karma|web-test-runner|wdio)\.(?:config|conf|setup|workspace)\.[cm]?[jt]s(?:on)?|\.mocharc\.\w+|\.taprc|\.nycrc(?:\.\w+)?|\.c8rc\.json|\.rspec|phpunit\.xml(?:\.dist)?|nextest\.toml|\.pre-commit-config\.yaml|\.gitlab-ci\.yml)$|^(?:\.husky|\.githooks|\.cargo|\.config\/nextest|\.github\/workflows)\//;
const sectioned = /(?:^|\/)(?:pyproject\.toml|setup\.cfg|tox\.ini|Cargo\.toml)$/;
const packageFile = /(?:^|\/)package\.json$/;
/** Keys of a package.json, other than its scripts, that determine how its tests are loaded. */
const packageKeys = ['type', 'imports', 'config', 'jest', 'vitest', 'mocha', 'ava', 'tap', 'c8', 'nyc'];

export const hasCommands = (path: string): boolean => packageFile.test(path) || isMakefile(path);

/** Whether a file may have settings that determine how tests run. */
export const isSettingsFile = (path: string): boolean =>
  !isInstalled(path) && (hasCommands(path) || sectioned.test(path) || whole.test(path));

/** The settings of a file, by their names in messages; for a file with one purpose the whole text, as `file`. A
 *  text that cannot be parsed in the format of its name is one setting. */
export function settingsIn(path: string, text: string | undefined): ReadonlyMap<string, string> {
  if (text === undefined || isInstalled(path)) return new Map();
  if (packageFile.test(path)) return packageSettings(text);
  if (isMakefile(path)) return makeSettings(path, text);
  if (sectioned.test(path)) return sections(text);
  return whole.test(path) ? new Map([['file', text]]) : new Map();
}

function packageSettings(text: string): Map<string, string> {
  const found = new Map<string, string>();
  try {
    const read = JSON.parse(text) as Record<string, unknown>;
    for (const [name, script] of Object.entries(read['scripts'] ?? {}))
      found.set(`script ${name}`, String(script));
    for (const key of packageKeys) if (key in read) found.set(`"${key}"`, JSON.stringify(read[key]));
  } catch {
    return new Map([['file', text]]);
  }
  return found;
}

/** The sections that are about tests. */
function sections(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let name: string | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith('[')) name = /^\[+([^\]]*(?:test|cover|tox|nose)[^\]]*)\]+/i.exec(line)?.[1];
    if (name !== undefined) found.set(`section ${name}`, `${found.get(`section ${name}`) ?? ''}${line}\n`);
  }
  return found;
}

const testWord =
  /(?:^|[\s:._-])(?:pre|post)?(?:tests?|check|verify|lint|ci|coverage|e2e|spec|typecheck|validate)(?:$|[:._-])/i;

/** Whether a setting affects tests whatever commands run: by its name, or because its file has no other purpose. */
export const concernsTests = (setting: string): boolean =>
  /^(?:script|target) /.test(setting)
    ? testWord.test(setting.slice(setting.indexOf(' ') + 1))
    : setting !== makeDirectives && !setting.startsWith('variable ');

const runners =
  /(?:^|(.*)\/)(?:unittest|pytest|_pytest|pluggy|nose2?|doctest|coverage|xdist|hypothesis|minitest|rspec)(?:\/.+)?\.(?:py|rb)$/;
/** Python modules that unittest and pytest import: one of the same name in their start folder takes precedence. */
const imported =
  /^(?:argparse|ast|asyncio|collections|contextlib|copy|difflib|enum|fnmatch|functools|importlib|inspect|io|json|linecache|logging|os|pathlib|pprint|re|runpy|shutil|signal|string|subprocess|tempfile|threading|time|token|tokenize|traceback|types|typing|warnings|weakref)(?:\/__init__)?\.py$/;

/** The folder in which a new file of this path would be loaded in place of a test runner's module; undefined where
 *  it would not. */
export function shadowFolder(path: string): string | undefined {
  if (isInstalled(path)) return undefined;
  const found = runners.exec(path);
  if (found !== null) return found[1] ?? '';
  return imported.test(path) ? '' : undefined;
}

/** Whether a file belongs to an installed test runner. */
export const isInstalledRunner = (path: string): boolean =>
  /(?:^|\/)(?:node_modules|site-packages)\/(?:\.bin\/)?(?:_?pytest|pluggy|coverage|vitest|@vitest|jest|@jest|jest-[^/]+|mocha|chai|ava|tap|c8|nyc|tsx|ts-node|@playwright)(?:\/|$)/.test(
    path,
  );

/** Which files are tests, and which tests they declare: patterns for common languages, not parsers. */
const testFolder = /(?:^|\/)(?:tests?|specs?|__tests__|testing|e2e|testsuite|features|scenarios)\//i;
const testName =
  /(?:^|\/)(?:test_[^/]*|[^/]*_test|[^/]*[.-](?:test|spec|e2e)|[^/]*_spec|tests?|[^/]*[a-z0-9]Tests?|[^/]*[a-z0-9](?:IT|Spec))\.[A-Za-z]+$/;
const code =
  /\.(?:[cm]?[jt]sx?|py|go|rs|java|kts?|rb|cs|sh|bash|zsh|bats|php|swift|scala|c|h|cc|cpp|hpp|exs?|pl|t|lua|dart|ps1|vue|svelte)$/i;

/** Whether a file is source code by its name. */
export const isSourceCode = (path: string): boolean => code.test(path);

/** Whether a file is a test by its name or folder. Files of installed packages are not. */
export const isTestFile = (path: string): boolean =>
  code.test(path) && !isInstalled(path) && (testFolder.test(path) || testName.test(path));

/** Whether a path is in a folder into which package managers install, where programs find others. */
export const isAmongPackages = (path: string): boolean =>
  /(?:^|\/)(?:node_modules|site-packages|\.venv|venv)\//.test(path);

export const isInstalled = (path: string): boolean =>
  /(?:^|\/)(?:node_modules|site-packages|vendor)\//.test(path);

const comments = /^[ \t]*(?:\/\/|#(?!\[)).*$|^[ \t]*\/\*[\s\S]{0,20000}?\*\//gm;

const declarations = [
  // JavaScript, Ruby, Dart, Scala; `skip` and `todo` do not run.
  /(?:^|[;{}>])[ \t]*(?:await\s+|return\s+|void\s+)?(?:it|test|specify|scenario|fit|t\.test|Deno\.test)(?:\.(?:only|each|for|concurrent|sequential|failing|fails))*(?:\s*[(`]|\s+['"]).*/,
  /^[ \t]*(?:async\s+)?def\s+test\w*.*/,
  /^func\s+(?:\(.*?\)\s*)?(?:Test|Fuzz|Example|test)\w*\(.*|\bt\.Run\(.*/,
  /#\[(?:\w+::)*(?:test|rstest|test_case)\b[^(]{0,200}.*/,
  /@(?:Test|ParameterizedTest|RepeatedTest|TestFactory)\b[^(]{0,200}.*/,
  /\[(?:Fact|Theory|Test|TestMethod|TestCase)\b[^(]{0,200}.*/,
  /\bfunction\s+test\w*\s*\(.*|^[ \t]*(?:test_\w+\s*\(\s*\)|@test\s|subtest\s).*/,
  /^[ \t]*(?:TEST(?:_F|_P|_CASE)?|SCENARIO)\s*\(.*/,
].map((pattern) => pattern.source);
const declaration = new RegExp(declarations.join('|'), 'gm');

/** Markers that keep a declared test, or a group of tests, from running. */
const skipped =
  /\b(?:describe|context|suite)\.skip\b|\bx(?:describe|context)\b|@(?:pytest\.mark\.|unittest\.)?(?:skip|xfail|expectedFailure)\b|^[ \t]*pytestmark\b.*\b(?:skip|xfail)\b|^\tt\.Skip(?:Now|f)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\bSkip\s*=\s*"|\{\s*skip:\s*(?:true|['"])|^[ \t]*__test__\s*=\s*False\b/gm;
/** Declared tests whose body is empty. */
const hollow =
  /\b(?:it|test|specify|scenario)(?:\.\w+)*\s*\(\s*(['"`])[^\n]{0,400}?\1\s*,\s*(?:async\s*)?(?:\([\w\s,]*\)\s*=>|\w+\s*=>|function\s*\w*\s*\([\w\s,]*\))\s*(?:\{[\s;]*(?:\}|return\s*;)|null|undefined|void 0)|\bdef\s+test\w*\s*\([^)\n]*\)[^:\n]*:\s*(?:pass|\.\.\.|return|None)[ \t]*(?=\n|$)|^func\s+(?:\([^)\n]*\)\s*)?Test\w*\([^)\n]*\)\s*\{\s*\}|#\[(?:\w+::)*test\]\s*(?:pub\s+)?(?:async\s+)?fn\s+\w+\(\)\s*\{\s*\}|@(?:Test|ParameterizedTest)\b[^{}\n]*\s+[\w\s]*\([^)\n]*\)\s*\{\s*\}/gm;
/** With one of these only the marked tests of a file run. */
const only = /\b(?:it|test|describe|context|suite)\.only\b|\bf(?:it|describe|context)\s*\(|\bonly:\s*true\b/g;

export type Tests = {
  /** The first line of each declaration, white space folded. */
  readonly names: readonly string[];
  /** How many of them run, according to the markers in the file. */
  readonly count: number;
  /** How many have an empty body. */
  readonly empty: number;
};

/** The texts of the tests that a text declares, each from its declaration to the next line that is indented no deeper and
 *  does not close it, without blanks; and the lines outside of all tests. */
export function testBlocksIn(text = ''): {
  readonly tests: readonly string[];
  readonly rest: readonly string[];
} {
  const tests: string[] = [];
  const rest: string[] = [];
  let open: { indent: number; lines: string[] } | undefined;
  const close = () => {
    if (open !== undefined) tests.push(open.lines.join('\n'));
    open = undefined;
  };
  const { starts, lines } = declaredLines(text);
  for (const [at, line] of lines.entries()) {
    const bare = line.trim().replace(/\s+/g, ' ');
    if (bare === '') continue;
    const indent = line.search(/\S/);
    const isStart = starts.has(at);
    const isEnd = indent === open?.indent && !isStart && /^[)\]}]|^end\b/.test(bare);
    if (open !== undefined && indent <= open.indent && !isEnd) close();
    if (open === undefined && isStart) open = { indent, lines: [] };
    (open?.lines ?? rest).push(bare);
  }
  close();
  return { tests, rest };
}

/** The lines of a text, and which of them begin the declaration of a test. */
function declaredLines(text: string): {
  readonly starts: ReadonlySet<number>;
  readonly lines: readonly string[];
} {
  const starts = new Set<number>();
  // A comment keeps its line.
  const bare = text.replace(comments, (found) => found.replace(/[^\n]/g, ' '));
  for (const found of bare.matchAll(declaration)) {
    const skip = /^[;{}>\s]*/.exec(found[0])?.[0].length ?? 0;
    starts.add(bare.slice(0, found.index + skip).split('\n').length - 1);
  }
  return { starts, lines: text.split('\n') };
}

/** How many tests of a text run and do something. */
export function runningTests(text: string | undefined): number {
  const { count, empty } = testsIn(text);
  return count - empty;
}

/** The tests that a text declares; none for an absent text. */
export function testsIn(text = ''): Tests {
  const bare = text.replace(comments, '');
  const names = [...bare.matchAll(declaration)].map(([found]) => found.replace(/^[;{}>]|\s+/g, ' ').trim());
  const alone = bare.match(only)?.length ?? 0;
  const count = names.length - (bare.match(skipped)?.length ?? 0);
  const empty = bare.match(hollow)?.length ?? 0;
  return { names, count: alone > 0 ? Math.min(alone, count) : count, empty };
}

/* Recognises that a successful test runner ran no test. */

/** `3 tests`, `0 passing`, `12 examples`; `tests 3`, `Tests run: 3`, `Tests: 1 passed, 1 total`. */
const counted = /\b(\d+) (?:tests?|examples?|specs?|runs?|passed|passing|pass)\b/gi;
const named = /\b(?:tests(?: run)?|pass)(?:\s*[:=]\s*|\s+)(\d+)\b/gi;
const without = /\bno tests?\b(?: (?:ran|run|found|were found|executed|files|to run|is available))/i;
/** A package whose tests ran, in the output of Go. */
const ofGo = /^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*\[no tests to run\])/m;

/** What a runner's summary says, if there is one. */
function summaryOf(output: string): 'some' | 'none' | 'nothing said' {
  const numbers = [counted, named].flatMap((form) => [...output.matchAll(form)].map(([, n]) => Number(n)));
  if (numbers.some((n) => n > 0) || ofGo.test(output)) return 'some';
  return numbers.length > 0 || without.test(output) ? 'none' : 'nothing said';
}

/** A test in a report of Node's runner. */
const reported = /^\s*(?:✔|✖|(?:not )?ok \d+ -) (.+?)(?: \([\d.]+m?s\))?\s*$/gm;
const isFile = (name: string): boolean => /^\S+\.[cm]?[jt]sx?$/.test(name);

/** Node's runner reports a file that contains no test, or ends before its first one, as a test that passed. */
function onlyFiles(output: string): boolean {
  if (!/^(?:#|ℹ) tests \d+$/m.test(output)) return false;
  const names = [...output.matchAll(reported)].map(([, name = '']) => name);
  return names.length > 0 && names.every(isFile);
}

const colours = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

/** Why the output of a command that exited with 0 shows that it tested nothing; undefined if it does not. */
export function noTestRan(output: string): string | undefined {
  const text = output.replace(colours, '');
  if (onlyFiles(text)) return '0 tests ran: its test files contain none, or end before the first';
  return summaryOf(text) === 'none' ? '0 tests ran' : undefined;
}
