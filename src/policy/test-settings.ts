/** Settings that determine how tests run: scripts, targets, runner settings, hooks, and modules that a runner would
 *  load instead of the real ones. */
import { isInstalled } from './test-files.ts';

const whole =
  /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.cjs|bunfig\.toml|conftest\.py|pytest\.ini|\.coveragerc|noxfile\.py|(?:site|user)customize\.py|[^/]+\.pth|(?:vitest|jest|playwright|ava|cypress|karma|web-test-runner|wdio)\.(?:config|conf|setup|workspace)\.[cm]?[jt]s(?:on)?|\.mocharc\.\w+|\.taprc|\.nycrc(?:\.\w+)?|\.c8rc\.json|\.rspec|phpunit\.xml(?:\.dist)?|nextest\.toml|\.pre-commit-config\.yaml|\.gitlab-ci\.yml)$|^(?:\.husky|\.githooks|\.cargo|\.config\/nextest|\.github\/workflows)\//;
const makefile = /(?:^|\/)(?:GNUmakefile|[Mm]akefile|[Jj]ustfile)$|\.mk$/;
const sectioned = /(?:^|\/)(?:pyproject\.toml|setup\.cfg|tox\.ini|Cargo\.toml)$/;
const packageFile = /(?:^|\/)package\.json$/;
/** Keys of a package.json, other than its scripts, that determine how its tests are loaded. */
const packageKeys = ['type', 'imports', 'config', 'jest', 'vitest', 'mocha', 'ava', 'tap', 'c8', 'nyc'];

export const hasCommands = (path: string): boolean => packageFile.test(path) || makefile.test(path);

/** The settings of a file, by their names in messages; for a file with one purpose the whole text, as `file`. A
 *  text that cannot be parsed in the format of its name is one setting. */
export function settingsIn(path: string, text: string | undefined): ReadonlyMap<string, string> {
  if (text === undefined || isInstalled(path)) return new Map();
  if (packageFile.test(path)) return packageSettings(text);
  if (makefile.test(path)) return blocks(text, /^([\w.-][\w.% -]*?)\s*:(?!=)/, 'target');
  if (sectioned.test(path))
    return blocks(text, /^\[+([^\]]*(?:test|cover|tox|nose)[^\]]*)\]+/i, 'section', /^\[/);
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

/** Text in blocks, each from a line with a name to the next such line, or to one that `ends` it. */
function blocks(text: string, begins: RegExp, kind: string, ends = begins): Map<string, string> {
  const found = new Map<string, string>();
  let names: string[] = [];
  for (const line of text.split('\n')) {
    const name = begins.exec(line)?.[1];
    if (name !== undefined) names = kind === 'target' ? name.split(/\s+/) : [name];
    else if (ends.test(line)) names = [];
    for (const one of names) found.set(`${kind} ${one}`, `${found.get(`${kind} ${one}`) ?? ''}${line}\n`);
  }
  return found;
}

const testWord =
  /(?:^|[\s:._-])(?:pre|post)?(?:tests?|check|verify|lint|ci|coverage|e2e|spec|typecheck|validate)(?:$|[:._-])/i;

/** Whether a setting affects tests whatever commands run: by its name, or because its file has no other purpose. */
export const concernsTests = (setting: string): boolean =>
  !/^(?:script|target) /.test(setting) || testWord.test(setting.slice(setting.indexOf(' ') + 1));

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
