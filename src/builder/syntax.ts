/** Parses the files that a work order wrote, in the languages whose syntax is known for certain. Nothing is executed. */

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parse } from 'acorn';
import { notesOf } from '../core/orders/notes.ts';
import { collect } from '../platform/process/collect.ts';
import { readPython } from '../platform/python.ts';

export type SyntaxReport = {
  /** `PATH: why`, for each file that does not parse. */
  readonly broken: readonly string[];
  /** Files in other languages, and those that could not be checked. */
  readonly unparsed: readonly string[];
};

/** What a check of a file's text found: a problem, `undefined` for none, null where it is not known. */
type Found = string | undefined | null;

/** Parses `paths` of `workspace`: `.py` with the installed python3, `.mjs`, `.cjs` and `.js` (without JSX), `.json` (without
 *  comments; not `tsconfig*.json` and `.vscode/`), `.sh` with bash. The lines `unparsed: PATH` of `notes` name files that
 *  are broken on purpose. */
export async function parseFiles(
  workspace: string,
  paths: readonly string[],
  { notes, env }: { readonly notes: string | null; readonly env: Readonly<Record<string, string>> },
): Promise<SyntaxReport> {
  const { unparsed: exempt } = notesOf({ notes });
  const texts = new Map<string, string>();
  for (const path of paths)
    if (!exempt.has(path))
      texts.set(path, (await readFile(join(workspace, path), 'utf8')).replace(/^\uFEFF/, ''));
  const python = readPython([...texts].flatMap(([path, text]) => (path.endsWith('.py') ? [text] : [])));
  const broken: string[] = [];
  const unparsed: string[] = paths.filter((path) => exempt.has(path));
  for (const [path, text] of texts) {
    const found = path.endsWith('.py')
      ? pythonIn(python.get(text))
      : await foundIn(path, text, workspace, env);
    if (found === null) unparsed.push(path);
    else if (found !== undefined) broken.push(`${path}: ${found}`);
  }
  return { broken, unparsed: unparsed.sort() };
}

/** Whether the syntax of a file is known for certain by its name and text: not of JSX in `.js`, of JSON with comments, and
 *  of `.sh` for other shells. True for files in languages that `parseFiles` does not know. */
export function hasKnownSyntax(path: string, text: string): boolean {
  if (path.endsWith('.js')) return !isOtherScript(text);
  if (path.endsWith('.json')) return isJson(path, text);
  return !path.endsWith('.sh') || isBash(text);
}

function pythonIn(program: ReturnType<ReturnType<typeof readPython>['get']>): Found {
  if (program === undefined || program.kind === 'unchecked') return null;
  return program.kind === 'invalid' ? program.problem : undefined;
}

async function foundIn(
  path: string,
  text: string,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<Found> {
  if (!hasKnownSyntax(path, text)) return null;
  if (path.endsWith('.mjs')) return scriptProblem(text, ['module']);
  if (path.endsWith('.cjs')) return scriptProblem(text, ['script']);
  if (path.endsWith('.js')) return scriptProblem(text, ['script', 'module']);
  if (path.endsWith('.json')) return jsonProblem(text);
  return path.endsWith('.sh') ? shellProblem(path, workspace, env) : null;
}

/** Why a text is JavaScript of none of these kinds: the problem of the parse that got furthest. */
function scriptProblem(text: string, kinds: readonly ('script' | 'module')[]): Found {
  let furthest = { message: '', at: -1 };
  for (const sourceType of kinds) {
    try {
      parse(text, { ecmaVersion: 'latest', sourceType, allowReturnOutsideFunction: sourceType === 'script' });
      return undefined;
    } catch (error) {
      // A text that exhausts the parser's stack is not known to be wrong.
      if (!(error instanceof SyntaxError)) return null;
      const at = 'pos' in error ? Number(error.pos) : 0;
      if (at >= furthest.at) furthest = { message: error.message, at };
    }
  }
  return `not valid JavaScript: ${furthest.message}`;
}

/** JSX or a language with types, which build tools read. */
const isOtherScript = (text: string): boolean =>
  /<\/?[A-Za-z][\w.]*(?:\s[^<>]*)?\/?>|<>|@flow|@jsx/.test(text);

/** Programs read these with comments, or the text has some. */
const isJson = (path: string, text: string): boolean =>
  !/^tsconfig.*\.json$/.test(basename(path)) &&
  !/(?:^|\/)\.vscode\//.test(path) &&
  !/^\s*(?:\/\/|\/\*)/m.test(text);

function jsonProblem(text: string): Found {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `not valid JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

const isBash = (text: string): boolean => !text.startsWith('#!') || /^#!.*\b(?:ba|da)?sh\b/.test(text);

async function shellProblem(
  path: string,
  workspace: string,
  env: Readonly<Record<string, string>>,
): Promise<Found> {
  // A path that begins with a dash would be an option.
  const { PATH = '' } = env;
  const ended = await collect('bash', ['-n', `./${path}`], { cwd: workspace, env: { PATH } });
  if (ended.kind !== 'exited' || ended.code === 0) return ended.kind === 'exited' ? undefined : null;
  const [first = ''] = ended.stderr.toString('utf8').split('\n');
  return `not valid bash: ${first.replace(`./${path}: `, '').slice(0, 300)}`;
}
