/** Recognises source files that change what other tests check: by patterns for common languages, not parsers. */
import { isInstalled, isTestFile } from './test-files.ts';

const libraries =
  /^(?:(?:node:)?assert(?:\/strict)?|node:test(?:\/\w+)?|vitest|@vitest\/.+|jest|@jest\/.+|chai|mocha|ava|tap|expect|should|power-assert|unittest(?:\.\w+)*|_?pytest(?:\.\w+)*|pluggy|nose2?|doctest|builtins|node:module)$/;
/** Stand-ins, which tests configure. */
const standIns = /^(?:mock|Mock|MagicMock|AsyncMock|patch|vi|jest|sinon|monkeypatch)$/;
const testModule = /(?:^|[./])(?:tests?[./]|test_\w+$|\w+_test$|[\w-]+\.(?:test|spec)(?:\.\w+)?$)/;

type Binding = { readonly name: string; readonly from: string };

/** Why a text changes the results of other tests; undefined if it does not. `isTest`: it is loaded with them. `isOwn` says
 *  whether the project has a module of that name. */
export function overriddenBy(
  path: string,
  text: string,
  isTest: boolean,
  isOwn: (module: string) => boolean,
): string | undefined {
  const isPython = path.endsWith('.py');
  if (!isPython && !/\.[cm]?[jt]sx?$/.test(path)) return isTest ? endOf(text) : forgedEnd(text);
  const bindings = withAliases(text, isPython ? pythonBindings(text) : scriptBindings(text));
  for (const { name, from } of bindings) {
    if (standIns.test(name)) continue;
    if ((libraries.test(from) || (isTest && testModule.test(from))) && isAssigned(text, name))
      return `it replaces parts of "${from}", with which tests check`;
    if (isTest && isOwn(from) && isReplaced(text, name))
      return `it replaces parts of "${from}" for all tests`;
  }
  if (
    /\bglobal(?:This)?\.(?:it|test|describe|suite|expect|assert)\s*=\s*(?:async\b|function\b|\(|\w+\s*=>)/.test(
      text,
    )
  )
    return 'it replaces the functions with which tests check';
  if (/\bsyncBuiltinESMExports\(/.test(text)) return 'it replaces parts of the modules of Node for all tests';
  for (const [, from = ''] of text.matchAll(/\bsys\.modules\[['"]([\w.]+)['"]\](?:\.\w+)*\s*=(?!=)/g))
    if (libraries.test(from) || (isTest && isOwn(from)))
      return `it replaces parts of "${from}" for all tests`;
  if (!isTest) return forgedEnd(text) ?? (isPython ? equalToAll(text) : hiddenFailures(text));
  return isPython ? (hookIn(text) ?? endOf(text)) : endOf(text);
}

/** A `load_tests` that only adds tests, and settings of pytest that leave the choice of tests alone. */
const onlyAdds =
  /^def load_tests\(\w+, *(\w+), *\w+\):\n(?:[ \t]+(?:\1\.addTests?\(.*\)|return \1|#.*|import .*|from .*)\n?|[ \t]*\n)+(?!\S*[ \t])/m;
const harmlessHook =
  /^pytest_(?:addoption|addhooks|configure|unconfigure|report_header|assertrepr_compare|sessionstart|make_parametrize_id)$/;
const choosesTests = /\bconfig\.(?:args|option\.\w+|known_args\w*)\b[^\n=]*=(?!=)|\bpluginmanager\b/;

/** Functions by which a test file decides which tests of others count. */
function hookIn(text: string): string | undefined {
  const hooks = text
    .replace(onlyAdds, '')
    .matchAll(
      /^(?:async\s+)?def\s+(load_tests|pytest_\w+)\s*\(|^(load_tests|collect_ignore(?:_glob)?)\s*=/gm,
    );
  for (const [, hook, list] of hooks) {
    const name = hook ?? list ?? '';
    if (!harmlessHook.test(name) || choosesTests.test(text)) return `its ${name} decides which tests run`;
  }
  return undefined;
}

/** A test that ends all of them with success. What only ends its own process is left out: runners notice that. */
function endOf(text: string): string | undefined {
  const main = /^func TestMain\([\s\S]*/m.exec(text)?.[0];
  if (main !== undefined && (!/\.Run\(\)/.test(main) || /\bos\.Exit\(0\)/.test(main)))
    return 'its TestMain ends with success';
  return forgedEnd(text);
}

/** Summaries of test runners, and the ends of programs that skip what a runner does last. */
const summary =
  /\bRan \d+ tests? in\b|\b\d+ passed(?:,.*)? in [\d.]+ ?m?s|\b\d+ passing\b|^.*['"`#ℹ\n] ?(?:tests|pass) \d+\b|\btest result: ok\b|\bTests:?\s+\d+ passed\b|\b\d+ examples?, 0 failures/m;
const abrupt = /\b_exit\b|\breallyExit\b|\b(?:process\.exit|os\.Exit|process::exit|System\.exit)\(/;
const whenLoaded = [
  /^(?:os\.)?_exit\(\s*0?\s*\)/m,
  /\batexit\.register\([^\n]*_exit\b/,
  /\bon(?:ce)?\(\s*['"`](?:exit|beforeExit)['"`]\s*,[^{}\n]*(?:\{[^{}]*)?(?:\bexitCode\s*=\s*0|[eE]xit\(\s*0)/,
  /\b(?:after|afterAll)\([^{}\n]*(?:\{[^{}]*)?\b(?:process\.exit|reallyExit)\(\s*0/,
  /\bat_exit\b[^\n]*exit!?\(?\s*(?:0|true)\b/,
  /^func init\(\) \{(?:\n[^}].*)*?os\.Exit\(0\)/m,
];
/** A file that ends whatever loads it with success. */
function forgedEnd(text: string): string | undefined {
  if (whenLoaded.some((form) => form.test(text))) return 'it ends the tests that load it with success';
  return abrupt.test(text) && summary.test(text)
    ? 'it prints the summary of a test runner, and ends the program'
    : undefined;
}

/** A value that every comparison of a test accepts. Tests themselves have such stand-ins. */
const equalToAll = (text: string): string | undefined =>
  /\bdef __(?:eq__\([^)]*\)[^:\n]*:\s*return True|ne__\([^)]*\)[^:\n]*:\s*return False)\b/.test(text)
    ? 'it has a value that equals every other'
    : undefined;

/** Handlers without content: a check that loads the file and fails then ends with success. */
const emptyHandler =
  /\b(?:on(?:ce)?\(\s*['"`](?:uncaughtException|unhandledRejection)['"`]\s*,|setUncaughtExceptionCaptureCallback\()\s*(?:async\s*)?(?:function\b\s*\w*\s*)?(?:\([^()]*\)|\w+)\s*(?:=>\s*)?(?:\{(?:\s|\/\*[^*]*\*\/|\/\/.*)*\}|undefined|null|void 0|\d+)\s*\)/;

const hiddenFailures = (text: string): string | undefined =>
  emptyHandler.test(text) ? 'it hides the failures of what loads it' : undefined;

const escaped = (name: string): string => name.replace(/\$/g, '\\$');

/** Whether something of a binding is set, anywhere. */
function isAssigned(text: string, name: string): boolean {
  const it = escaped(name);
  return [
    `(?<![.\\w$])${it}(?:\\??\\.[\\w$]+|\\[[^\\]\\n]+\\])+\\s*(?:\\+|\\|\\||\\?\\?|&&)?=(?![=>])`,
    `\\b(?:Object\\.(?:assign|definePropert(?:y|ies)|setPrototypeOf)|Reflect\\.(?:set|defineProperty|deleteProperty)|setattr|delattr)\\(\\s*${it}\\b`,
    `\\b(?:del|delete)\\s+${it}[.[]`,
  ].some((pattern) => new RegExp(pattern).test(text));
}

/** Whether a test file sets a function of the product while it is loaded. */
function isReplaced(text: string, name: string): boolean {
  const it = escaped(name);
  const [, value] =
    new RegExp(`^${it}(?:\\.[\\w$]+)+\\s*=\\s*(.+)$`, 'm').exec(text) ??
    new RegExp(`^(?:setattr|Object\\.assign)\\(\\s*${it}\\b[^,]*,(.+)$`, 'm').exec(text) ??
    [];
  if (value === undefined) return false;
  // Settings of a product are data.
  return !/^\s*(?:['"`\d[{-]|True\b|False\b|None\b|true\b|false\b|null\b|undefined\b)/.test(value);
}

/** Bindings with the other names that a text gives them or their parts. */
function withAliases(text: string, bindings: readonly Binding[]): readonly Binding[] {
  const aliases = bindings.flatMap(({ name, from }) =>
    [
      ...text.matchAll(
        new RegExp(
          `^[ \\t]*(?:const |let |var )?([\\w$]+)\\s*=\\s*${escaped(name)}(?:\\.[\\w$]+)*[ \\t]*;?[ \\t]*$`,
          'gm',
        ),
      ),
    ].map(([, alias = '']) => ({ name: alias, from })),
  );
  return [...bindings, ...aliases];
}

function scriptBindings(text: string): readonly Binding[] {
  const forms = [
    /\bimport\s+([\w$*{][^'"();]*?)\s+from\s*['"]([^'"]+)['"]/g,
    /\b(?:const|let|var)\s+([\w${][^=;]*?)\s*=\s*(?:await\s+import|require|\(await import)\s*\(\s*['"]([^'"]+)['"]/g,
    // Loaded by another function: createRequire(…)(…), getBuiltinModule(…).
    /\b(?:const|let|var)\s+([\w${][^=;]*?)\s*=\s*[\w$.]+(?:\([^()\n]*\))?\(\s*['"]((?:node:)?assert(?:\/strict)?|node:test)['"]/g,
  ];
  return forms.flatMap((form) =>
    [...text.matchAll(form)].flatMap(([, names = '', from = '']) =>
      names
        .replace(/[{}]/g, ',')
        .split(',')
        .map(
          (one) =>
            one
              .trim()
              .split(/\s+as\s+|\s*:\s*/)
              .at(-1)
              ?.trim() ?? '',
        )
        .filter((name) => /^[\w$]+$/.test(name))
        .map((name) => ({ name, from })),
    ),
  );
}

function pythonBindings(text: string): readonly Binding[] {
  const found: Binding[] = [];
  for (const [, names = ''] of text.matchAll(/^[ \t]*import[ \t]+([^\n#;]+)/gm))
    for (const one of names.split(',')) {
      const [from = '', name] = one.trim().split(/\s+as\s+/);
      found.push({ name: name ?? from.split('.')[0] ?? '', from });
    }
  for (const [, from = '', names = ''] of text.matchAll(
    /^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([^\n#;)]+)/gm,
  ))
    for (const one of names.split(',')) {
      const [what = '', name] = one.trim().split(/\s+as\s+/);
      found.push({ name: name ?? what, from: libraries.test(from) ? from : `${from}.${what}` });
    }
  for (const [, name = '', from = ''] of text.matchAll(
    /^[ \t]*(\w+)\s*=\s*(?:sys\.modules(?:\.get\(|\[)|(?:importlib\.)?import_module\(|__import__\()\s*['"]([\w.]+)['"]/gm,
  ))
    found.push({ name, from });
  return found.filter(({ name }) => /^\w+$/.test(name));
}

/** Why a change of a file changes the results of other tests, as `overriddenBy`; undefined also where the file did so before.
 *  `start`: the files of the project; `folders`: those with tests in them or below. */
export function overrideIn(
  {
    path,
    before,
    after = '',
  }: { readonly path: string; readonly before: string | undefined; readonly after: string | undefined },
  start: ReadonlySet<string>,
  folders: ReadonlySet<string>,
): string | undefined {
  if (isInstalled(path)) return undefined;
  const folder = path.split('/').slice(0, -1).join('/');
  const isTest = isTestFile(path) || (/(?:^|\/)__init__\.py$/.test(path) && folders.has(folder));
  const isOwn = (module: string): boolean => isModule(module, path, start);
  const why = overriddenBy(path, after, isTest, isOwn);
  return before !== undefined && overriddenBy(path, before, isTest, isOwn) === why ? undefined : why;
}

/** The folders with tests in them or below. */
export const testFolders = (paths: Iterable<string>): ReadonlySet<string> =>
  new Set(
    [...paths]
      .filter(isTestFile)
      .flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(0, at).join('/'))),
  );

/** Whether the project had a module of this name among `start`. */
function isModule(module: string, path: string, start: ReadonlySet<string>): boolean {
  if (module.startsWith('.') && !path.endsWith('.py')) return true;
  const parts = module.split('.').filter((one) => one !== '');
  return parts.some((_, at) => {
    const name = parts.slice(0, at + 1).join('/');
    return [`${name}.py`, `${name}/__init__.py`, `src/${name}.py`, `src/${name}/__init__.py`].some((one) =>
      start.has(one),
    );
  });
}
