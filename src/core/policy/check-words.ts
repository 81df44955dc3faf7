/** What the words of one command run. */
import { readShell } from './shell.ts';

/** A command as shell text, or in words. */
export type CheckCommand = string | readonly string[];

export type Found = {
  readonly settings: string[];
  readonly files: string[];
  readonly commands: CheckCommand[];
  readonly folders: string[];
  readonly tests: boolean;
};

/** Whether a command may be a check, whatever the files say. */
export const mayCheck = (command: CheckCommand): boolean =>
  foundIn(command).some(
    ({ settings, files, commands, tests }) => tests || settings.length + files.length + commands.length > 0,
  );

export const foundIn = (command: CheckCommand): Found[] =>
  typeof command === 'string' ? inShell(command) : [inWords(command, false)];

const inShell = (text: string): Found[] =>
  readShell(text).commands.map(({ words, piped }) =>
    inWords(
      words.map((word) => word.text),
      piped,
    ),
  );

const packageManagers = /^(?:npm|pnpm|yarn|bun)$/;
const makes = /^(?:g?make|just)$/;
/** Programs that have no other purpose than to test. */
const runners =
  /^(?:vitest|jest|mocha|ava|tap|c8|nyc|pytest|py\.test|rspec|prove|bats|phpunit|ctest|playwright|cypress|karma|tox|nox|nose2|unittest|doctest|eslint|mypy|ruff|shellcheck|golangci-lint)$/;
/** Programs that test by a subcommand or an option. */
const builders =
  /^(?:node|cargo|go|deno|bun|dotnet|mvnw?|gradlew?|rake|bazel|task|swift|mix|sbt|lein|stack|cabal|zig|flutter|dart|composer|hatch|pdm|rails|factory)$/;
const testing = /^(?:--)?(?:[\w:.-]*[:.-])?(?:tests?|check|verify|vet|clippy|nextest|spec|lint|scenario)$/i;
const shells = /^(?:(?:ba|da|k|z)?sh|source|\.)$/;
const interpreters =
  /^(?:node|deno|tsx|ts-node|python[\d.]*|ruby|perl|php|vitest|jest|mocha|ava|tap|c8|nyc|pytest|rspec|prove)$/;
/** Options whose value is loaded before the tests. */
const loads =
  /^(?:-r|-c|-p|--(?:import|require|loader|experimental-loader|config|setup|rcfile|confcutdir|env-file|global-setup))$/;
const checkWord =
  /(?:^|[/_.-])(?:check|test|tests|verify|validate|accept|acceptance|lint|smoke|e2e|ci|spec)(?=[/_.-]|$)/i;

/** Whether the name of a path is that of a check. */
export const isNamedAsCheck = (path: string): boolean => checkWord.test(path);

export const isShell = (path: string): boolean => /\.(?:ba|z)?sh$/.test(path) || !/\.\w+$/.test(path);
const isScript = (word: string): boolean =>
  /\.(?:ba|z)?sh$/.test(word) || (word.includes('/') && checkWord.test(word));
const plain = (word: string): string => word.replace(/^(?:\.\/)+/, '');

/** Words that may precede a program. */
const before =
  /^(?:\w+=.*|!|if|then|elif|else|while|until|do|time|exec|env|command|nohup|timeout|\d+[smh]?)$/s;

/** What a command of these words runs. If its output is `piped` into another command, that one determines the
 *  result. */
function inWords(words: readonly string[], piped: boolean): Found {
  const first = words.find((word) => !before.test(word)) ?? '';
  const found: Found = {
    settings: [],
    files: [],
    commands: [],
    folders: words.flatMap(foldersBefore),
    tests: testsIn(words),
  };
  const at = words.findIndex((word) => isProgram(word));
  const program = (words[at] ?? '').split('/').at(-1) ?? '';
  const rest = words.slice(at + 1);
  const names = rest.filter((word) => !word.startsWith('-') && !word.includes('='));
  if (!piped && isScript(first)) found.files.push(plain(first));
  if (at < 0) return found;
  if (packageManagers.test(program)) for (const name of names) found.settings.push(...scriptsOf(name));
  else if (makes.test(program))
    found.settings.push(
      ...(names.length === 0 ? ['all', 'default', 'test'] : names).map((name) => `target ${name}`),
    );
  else if (shells.test(program)) {
    const option = rest.findIndex((word) => /^-\w*c$/.test(word));
    if (option >= 0) found.commands.push(rest[option + 1] ?? '');
    else if (!piped) found.files.push(...names.slice(0, 1).map(plain));
  } else
    found.files.push(
      ...loaded(rest),
      ...(piped
        ? []
        : names
            .slice(0, 1)
            .filter((word) => checkWord.test(word))
            .map(plain)),
    );
  return found;
}

/** Whether the words start a test runner, directly or through another program. */
function testsIn(words: readonly string[]): boolean {
  const names = words.map((word) => word.split('/').at(-1) ?? '');
  const at = names.findIndex((name, nth) => runners.test(name) && !isOption(words[nth - 1] ?? ''));
  if (at >= 0) return true;
  const builder = names.findIndex((name) => builders.test(name));
  return builder >= 0 && words.slice(builder + 1).some((word) => testing.test(word));
}
const isOption = (word: string): boolean => /^-(?!m$)/.test(word);

/** The folders of the workspace that an assignment puts before PATH. */
function foldersBefore(word: string): string[] {
  const [, value] = /^PATH=(.*)$/s.exec(word) ?? [];
  if (value === undefined) return [];
  return value
    .split(':')
    .map((folder) => plain(folder.replace(/^\$(?:PWD|\(\)|\{\})\/?|\/$/g, '')))
    .filter((folder) => folder !== '' && !/^[/$~]/.test(folder));
}

const isProgram = (word: string): boolean => {
  const name = word.split('/').at(-1) ?? '';
  return [packageManagers, makes, shells, interpreters].some((kind) => kind.test(name));
};

function scriptsOf(name: string): string[] {
  if (/^(?:ci|i|install|add)$/.test(name))
    return ['preinstall', 'install', 'postinstall', 'prepare'].map(scriptCalled);
  const script = /^(?:t|tst)$/.test(name) ? 'test' : name;
  return [`pre${script}`, script, `post${script}`].map(scriptCalled);
}
const scriptCalled = (name: string): string => `script ${name}`;

/** Files that options of a test runner load. */
const loaded = (words: readonly string[]): string[] =>
  words.flatMap((word, at) => {
    const [option = '', value = words[at + 1]] = word.split(/=(.*)/s);
    return loads.test(option) && value !== undefined ? [plain(value)] : [];
  });
