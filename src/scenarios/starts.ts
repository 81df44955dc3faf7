/** Finds where scenarios start, import or source the product otherwise than by APP_RUN. By the text alone: it does not know
 *  what a variable holds at run time. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readShell } from '../core/policy/shell.ts';
import { discover } from './discover.ts';

export type ScriptFile = { readonly name: string; readonly text: string };

/** A scenario and the other files of its folder that are no scenarios, as far as they are scripts. */
export async function helpersOf(folder: string, scenario: string): Promise<readonly ScriptFile[]> {
  const others = (await discover(folder)).scenarios
    .map(({ name }) => name)
    .filter((name) => name !== scenario);
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
  const read = names
    .filter((name) => name === scenario || (isScript(name) && !others.includes(name)))
    .map(async (name) => ({ name, text: await readFile(join(folder, name), 'utf8').catch(() => '') }));
  return Promise.all(read);
}

const isScript = (name: string): boolean => /\.(sh|bash|py|[cm]?js)$/i.test(name);

export type ProductStart = {
  /** From 1. */
  readonly line: number;
  /** The line or command. */
  readonly text: string;
};

type CodeLanguage = 'python' | 'node';

/** The language of a script, of those whose text can be read here. */
export function languageOf(name: string, text: string): CodeLanguage | 'shell' | undefined {
  const first = /^#!.*\n/.exec(text)?.[0] ?? '';
  if (/\.py$/i.test(name) || /python/.test(first)) return 'python';
  if (/\.[cm]?js$/i.test(name) || /\bnode\b/.test(first)) return 'node';
  return /\.(sh|bash)$/i.test(name) || /\b\w*sh\b/.test(first) ? 'shell' : undefined;
}

/** The places of a script that start, import or source the product otherwise than by APP_RUN. Pure. */
export function productStarts(name: string, text: string): readonly ProductStart[] {
  const language = languageOf(name, text);
  if (language === undefined) return [];
  return language === 'shell' ? inShell(text) : inCode(text, language);
}

const escaped = (word: string): string => word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Names of variables whose assigned text matches `from`, or names another such variable. */
function tainted(text: string, assignment: RegExp, from: RegExp): ReadonlySet<string> {
  const names = new Set<string>();
  const pairs = [...text.matchAll(assignment)].map(([, name = '', value = '']) => ({ name, value }));
  for (let before = -1; before !== names.size; ) {
    before = names.size;
    const known = [...names].map((name) => new RegExp(`(?<![\\w.])${escaped(name)}(?!\\w)`));
    for (const { name, value } of pairs)
      if (from.test(value) || known.some((one) => one.test(value)))
        for (const each of name.match(/\w+/g) ?? []) names.add(each);
  }
  return names;
}

const interpreters = /^(?:ba|da|z|k)?sh$|^(?:node|nodejs|bun|deno|ruby|perl|php|java|python[\d.]*|pypy3?)$/;
/** Programs that start whatever the project in the working folder says. */
const runners =
  /^(?:npm|npx|pnpm|yarn|make|gmake|just|cargo|go|mvn|gradle|gradlew|tox|pytest|uv|poetry|dotnet|rake|bundle|composer)$/;
/** Modules of Python that only read the files that they are given. */
const reading =
  'py_compile|compileall|json\\.tool|ast|tokenize|tabnanny|symtable|pyclbr|pyflakes|flake8|pylint|mypy|ruff';
const readingModule = new RegExp(`^(?:${reading})$`);

/** Whether `python3` with these arguments starts such a module. */
export const readsOnly = (args: readonly { readonly text: string }[]): boolean =>
  args.some(({ text }, at) => text === '-m' && readingModule.test(args[at + 1]?.text ?? ''));

const harmless = /^(?:--?v(?:ersion)?|version|-h|--help|help|env|config|view|root)$/;
/** Words before a program. */
const before =
  /^(?:if|then|elif|else|while|until|do|!|\{|\(|time|exec|command|env|nohup|setsid|nice|eval|trap|timeout|xargs|stdbuf|sudo|-\w|--[\w-]+(?:=.*)?|\d+(?:\.\d+)?[smh]?|\w+\+?=.*)$/;

function inShell(text: string): readonly ProductStart[] {
  const product = tainted(text, /(?:^|[\s;&|(])(\w+)=([^\n;]*)/g, /\$(?:\{1[^\d]|\{1\}|1(?!\d)|@|\*)/);
  const launcher = tainted(text, /(?:^|[\s;&|(])(\w+)=([^\n;]*)/g, /APP_RUN/);
  const isProduct = (raw: string): boolean =>
    [...raw.matchAll(/\$\{?(\w+)/g)].some(([, name = '']) => name === '1' || product.has(name));
  const isLauncher = (raw: string): boolean =>
    [...raw.matchAll(/\$\{?(\w+)/g)].some(([, name = '']) => name === 'APP_RUN' || launcher.has(name));
  // A path of the product, or one below the folder in which a scenario starts.
  const isFile = (raw: string, bare: string): boolean =>
    isProduct(raw) || /^(?:\.\/)?[\w.-]+\/[\w./-]*$/.test(bare) || /^\.\/[\w.-]+$/.test(bare);
  const found: ProductStart[] = [];
  for (const { words } of readShell(text).commands) {
    const [program, ...args] = programOf(words);
    // `timeout 5 "$APP_RUN" x`, and `env X=1 "$APP_RUN" x`.
    if (program === undefined || words.some(({ raw }) => isLauncher(raw))) continue;
    const name = program.text.split('/').at(-1) ?? '';
    const script = args.find(({ text: word }) => !/^-/.test(word));
    const isStart =
      isFile(program.raw, program.text) ||
      (/^(?:source|\.)$/.test(program.text) && script !== undefined && isFile(script.raw, script.text)) ||
      (interpreters.test(name) &&
        script !== undefined &&
        !args.some(({ text: word }) => /^-(?:c|e|p|-eval|-print|-check|n)$/.test(word)) &&
        !readsOnly(args) &&
        (isFile(script.raw, script.text) || args.some(({ text: word }) => word === '-m'))) ||
      (runners.test(name) && !args.every(({ text: word }) => harmless.test(word)));
    if (isStart) found.push(placeOf(text, words));
  }
  return found;
}

/** The words of a command from its program on, without keywords, assignments and programs that only start it. */
export function programOf<W extends { readonly text: string }>(words: readonly W[]): readonly W[] {
  const at = words.findIndex(({ text: word }) => !before.test(word));
  return words.slice(at < 0 ? words.length : at);
}

function placeOf(text: string, words: readonly { readonly raw: string }[]): ProductStart {
  const raws = words.map(({ raw }) => raw);
  const lines = text.split('\n');
  const at = lines.findIndex((line) =>
    raws.slice(0, 3).every((word) => line.includes(word.split('\n')[0] ?? '')),
  );
  return { line: Math.max(at, 0) + 1, text: raws.join(' ').slice(0, 100) };
}

const assignments = {
  python: /^[ \t]*([\w, ]+?)\s*=\s*([^=\n].*)$/gm,
  node: /(?:const|let|var)\s+([\w\s,[\]{}]+?)\s*=\s*([^;\n]+)/g,
} as const;
const given = { python: /\bargv\b/, node: /\bargv\b/ } as const;
const imports = {
  python:
    /\b(?:sys\.path\.(?:insert|append|extend)|site\.addsitedir|spec_from_file_location|run_path|run_module|import_module|__import__|SourceFileLoader)\s*\(|\bexec\s*\(\s*(?:compile\s*\(\s*)?open\s*\(|\bsys\.path\s*(?:\[.*\]\s*)?\+?=/g,
  node: /\b(?:require|import|createRequire|register|runInThisContext|Worker)\s*\(/g,
} as const;
const starts = {
  python:
    /\b(?:subprocess\.)?(?:run|call|check_call|check_output|Popen|getoutput|getstatusoutput)\s*\(|\bos\.(?:system|popen|exec\w+|spawn\w+|posix_spawn\w*)\s*\(|\bpty\.spawn\s*\(|\bcreate_subprocess_\w+\s*\(/g,
  node: /\b(?:spawn|spawnSync|execSync|execFile|execFileSync|fork|execa)\s*\(|(?<![.\w])exec\s*\(|\b(?:cp|child_?[pP]rocess)\.exec\s*\(/g,
} as const;
/** A call that begins with a program that only reads files: `["grep", …`, `'diff a b'`, `[sys.executable, "-m", "py_compile", …`. */
export const onlyReads = new RegExp(
  String.raw`^\s*[[(]?\s*(?:["'\`](?:cat|cmp|diff|e?grep|file|head|jq|ls|md5sum|rg|sha\d+sum|stat|tail|wc)(?:["'\`]|\s)` +
    String.raw`|(?:sys\.executable|process\.execPath|["'\`](?:python[\d.]*|node(?:js)?))["'\`]?[\s,[]+["'\`]?(?:--check|-m["'\`]?[\s,]+["'\`]?(?:${reading}))\b)`,
);
/** A quoted relative path below the folder in which a scenario starts, as a program or script. */
const ownPath =
  /["'`](?:\.\/)?(?:bin|src|dist|build|lib|scripts|target)\/[\w./-]+["'`\s]|["'`]\.\/[\w.-]+["'`\s]/;

const withoutRemarks = (source: string, language: CodeLanguage): string =>
  source.replace(language === 'python' ? /^[ \t]*#.*$/gm : /^[ \t]*\/\/.*$/gm, '');

/** The arguments of each call of a script that starts a program. Pure. */
export function startCalls(source: string, language: CodeLanguage): readonly string[] {
  const text = withoutRemarks(source, language);
  return [...text.matchAll(starts[language])].map((match) => callAt(text, match.index + match[0].length));
}

function inCode(source: string, language: CodeLanguage): readonly ProductStart[] {
  const text = withoutRemarks(source, language);
  const product = tainted(text, assignments[language], given[language]);
  const launcher = tainted(text, assignments[language], /APP_RUN/);
  const names = (set: ReadonlySet<string>, part: string): boolean =>
    [...set].some((name) => new RegExp(`(?<![\\w.])${escaped(name)}(?!\\w)`).test(part));
  const isProduct = (part: string): boolean => given[language].test(part) || names(product, part);
  const isLauncher = (part: string): boolean => part.includes('APP_RUN') || names(launcher, part);
  const found = new Map<number, ProductStart>();
  const note = (at: number) => {
    const line = text.slice(0, at).split('\n').length;
    found.set(line, { line, text: (text.split('\n')[line - 1] ?? '').trim().slice(0, 100) });
  };
  for (const match of text.matchAll(imports[language])) {
    const part = callAt(text, match.index + match[0].length);
    // The rest of an assignment has no parentheses.
    const rest = text.slice(match.index, text.indexOf('\n', match.index));
    if (isProduct(part) || (/=$/.test(match[0]) && isProduct(rest))) note(match.index);
  }
  for (const match of text.matchAll(starts[language])) {
    const part = callAt(text, match.index + match[0].length);
    const words = part.match(/[\w.-]+/g) ?? [];
    const isStart =
      isProduct(part) ||
      ownPath.test(part) ||
      (runners.test(words[0] ?? '') && !words.slice(1, 2).every((word) => harmless.test(word)));
    if (isStart && !onlyReads.test(part) && !isLauncher(part)) note(match.index);
  }
  return [...found.values()].sort((a, b) => a.line - b.line);
}

/** The arguments of a call, from after its parenthesis to the one that closes it; at most 1000 characters. */
function callAt(text: string, start: number): string {
  let depth = 1;
  let at = start;
  for (; at < Math.min(text.length, start + 1000) && depth > 0; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
  }
  return text.slice(start, at);
}
