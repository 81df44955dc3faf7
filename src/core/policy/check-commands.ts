/** What the commands of a run's checks use: scripts, targets and files, through package.json, makefiles and shell
 *  scripts. */
import { readShell } from './shell.ts';
import { settingsIn } from './test-files.ts';

/** A command as shell text, or in words. */
export type CheckCommand = string | readonly string[];

export type Reached = {
  /** As `settingsIn` calls them. */
  readonly settings: ReadonlySet<string>;
  /** Whether a command runs this file to get its result, or loads it into a test runner. */
  runs(path: string): boolean;
};

type Found = { readonly settings: string[]; readonly files: string[]; readonly commands: CheckCommand[] };

/** Follows `commands`. `texts` has the package.json files and makefiles of the workspace by path; `read` gives a
 *  file's text, undefined where there is none. */
export async function reachedBy(
  commands: readonly CheckCommand[],
  texts: ReadonlyMap<string, string>,
  read: (path: string) => Promise<string | undefined>,
): Promise<Reached> {
  const known = new Map<string, string[]>();
  for (const [path, text] of texts)
    for (const [name, value] of settingsIn(path, text)) known.set(name, [...(known.get(name) ?? []), value]);
  const settings = new Set<string>();
  /** Files by their names in commands; false where the workspace has no such path: a command may change its
   *  directory. */
  const files = new Map<string, boolean>();
  const open = [...commands];
  for (let command = open.pop(); command !== undefined; command = open.pop())
    for (const found of typeof command === 'string' ? inShell(command) : [inWords(command, false)]) {
      open.push(...found.commands);
      for (const name of found.settings.filter((one) => !settings.has(one))) {
        settings.add(name);
        for (const text of known.get(name) ?? [])
          open.push(...(name.startsWith('target ') ? recipe(text) : [text]));
      }
      for (const file of found.files.filter((one) => !files.has(one))) {
        const text = await read(file);
        files.set(file, text !== undefined);
        if (text !== undefined && isShell(file)) open.push(text);
      }
    }
  return {
    settings,
    runs: (path) =>
      files.has(path) || [...files].some(([file, exists]) => !exists && path.endsWith(`/${file}`)),
  };
}

const inShell = (text: string): Found[] =>
  readShell(text).commands.map(({ words, piped }) =>
    inWords(
      words.map((word) => word.text),
      piped,
    ),
  );

/** The lines of a target, and the targets that it depends on. */
function recipe(text: string): string[] {
  const [head = '', ...lines] = text.split('\n');
  const needs = head.slice(head.indexOf(':') + 1).replace(/#.*/, '');
  return [
    ...lines.map((line) => line.trim().replace(/^[@+-]+/, '')),
    ...(needs.trim() === '' ? [] : [`make ${needs}`]),
  ];
}

const packageManagers = /^(?:npm|pnpm|yarn|bun)$/;
const makes = /^(?:g?make|just)$/;
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

const isShell = (path: string): boolean => /\.(?:ba|z)?sh$/.test(path) || !/\.\w+$/.test(path);
const isScript = (word: string): boolean =>
  /\.(?:ba|z)?sh$/.test(word) || (word.includes('/') && checkWord.test(word));
const plain = (word: string): string => word.replace(/^(?:\.\/)+/, '');

/** Words that may precede a program. */
const before =
  /^(?:\w+=.*|!|if|then|elif|else|while|until|do|time|exec|env|command|nohup|timeout|\d+[smh]?)$/s;

/** What a command of these words runs. If its output is `piped` into another command, that one determines the
 *  result. */
function inWords(words: readonly string[], piped: boolean): Found {
  const found: Found = { settings: [], files: [], commands: [] };
  const first = words.find((word) => !before.test(word)) ?? '';
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
