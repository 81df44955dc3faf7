/** The file `factory.json`: of a project, and of the user. */
import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type * as z from 'zod';
import type { Environment } from '../core/contracts/process.ts';
import { type Diagnostic, type Place, wrong } from '../core/diagnostic.ts';
import { isObject } from '../core/json.ts';
import { mapJson, positionAt } from '../core/json-places.ts';
import { userFileName } from '../core/model-server.ts';
import { nearest } from '../core/nearest.ts';
import { secretsOf } from '../core/policy/secrets.ts';
import {
  foreignTo,
  type ProjectContent,
  type ProjectOwner,
  projectSchema,
  providerSchema,
} from '../core/records/project.ts';
import { readPlain } from '../platform/files/read.ts';
import { systemWords } from '../platform/files/write.ts';
import { packageRoot } from '../platform/package.ts';
import { isWithin } from '../workspace/roots.ts';

/** Name of the project's file. */
const projectName = 'factory.json';

/** The user's own file: in `XDG_CONFIG_HOME`, else in `~/.config`; undefined without a home. */
export function userFileOf(env: Environment): string | undefined {
  const absolute = (name: string) => {
    const value = env[name];
    return value !== undefined && isAbsolute(value) ? value : undefined;
  };
  const home = absolute('HOME');
  const folder = absolute('XDG_CONFIG_HOME') ?? (home === undefined ? undefined : join(home, '.config'));
  return folder === undefined ? undefined : join(folder, 'factory', projectName);
}

/** The nearest `factory.json` in a folder or above it: up to the top of the repository, and never through a folder in which other
 *  users may write. Pipelines of factory itself belong to no project. */
export function projectFileOf(folder: string): string | undefined {
  const start = resolve(folder);
  if (isWithin(join(packageRoot(), 'pipelines'), start)) return undefined;
  const owner = statsOf(start)?.uid;
  for (let at = start; ; at = dirname(at)) {
    const is = statsOf(at);
    const isShared = is === undefined || is.uid !== owner || (is.mode & 0o002) !== 0;
    if (isShared && at !== start) return undefined;
    const file = join(at, projectName);
    if (statsOf(file)?.isFile() === true) return file;
    if (statsOf(join(at, '.git')) !== undefined || dirname(at) === at) return undefined;
  }
}

/** Undefined where nothing can be seen there: also below a file. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

type Entries = readonly { readonly entry: string; readonly place: Place }[];

/** The modules that the project's file names. */
export function entriesIn(
  file: string,
): { readonly entries: Entries } | { readonly found: readonly Diagnostic[] } {
  const read = readProjectFile(file, 'project');
  if ('found' in read) return read;
  const { nodes = [] } = read.content;
  return { entries: nodes.map((entry, at) => ({ entry, place: read.placeOf(['nodes', String(at)]) })) };
}

export type ReadProject = {
  readonly file: string;
  readonly content: ProjectContent;
  placeOf(path: readonly string[]): Place;
};

/** Bytes: no such file is nearly as large. */
const mostBytes = 1024 * 1024;

/** Reads `factory.json` of a project, or the user's own. */
export function readProjectFile(
  file: string,
  owner: ProjectOwner,
): ReadProject | { readonly found: readonly Diagnostic[] } {
  const loaded = textOfProject(file, owner);
  if ('why' in loaded) return { found: [problemIn({ file, span: lineOf('', 0) }, loaded.why, loaded.fix)] };
  const { text } = loaded;
  const placeAt = (offset: number): Place => placeOfLine(file, text, offset);
  const shape = owner === 'project' ? `{ "nodes": ["./kind.mjs"] }` : `{ "providers": { "NAME": { … } } }`;
  const map = mapJson(text);
  if ('problem' in map)
    return { found: [problemIn(placeAt(map.offset), `is not JSON: ${map.problem}`, `write ${shape}`)] };
  const placeOf = (path: readonly string[]): Place => placeAt(map.offset(path));
  const [twice] = map.duplicates;
  if (twice !== undefined)
    return { found: [problemIn(placeAt(twice.offset), `gives "${twice.key}" twice`, 'remove one of them')] };
  let isOdd = false;
  const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''), (key, part: unknown) => {
    isOdd ||= key === '__proto__';
    return part;
  });
  if (isOdd) return { found: [problemIn(placeAt(0), 'has a key "__proto__"', 'remove it')] };
  if (!isObject(value)) return { found: [problemIn(placeAt(0), 'is no JSON object', `write ${shape}`)] };
  const read = projectSchema().safeParse(value);
  if (!read.success) return { found: read.error.issues.map((issue) => wrongPart(issue, file, placeOf)) };
  const foreign = foreignTo(owner, read.data);
  if (foreign.length > 0)
    return {
      found: foreign.map(({ path, why }) =>
        problemIn(placeOf(path), `"${path.join('.')}" ${why}`, fixOfForeign[owner]),
      ),
    };
  return { file, content: read.data, placeOf };
}

const fixOfForeign: Readonly<Record<ProjectOwner, string>> = {
  project: `remove it; if you trust that server, write it into ${userFileName}`,
  user: 'write it into the factory.json of the project',
};

const problemIn = (place: Place, message: string, fix: string): Diagnostic => ({
  ...{ code: 'project-file', severity: 'error', message, place, fix },
});

type Issue = z.core.$ZodIssue;

/** What is wrong with a part of the file, at its place; a line that may hold a secret is not shown. */
function wrongPart(issue: Issue, file: string, placeOf: ReadProject['placeOf']): Diagnostic {
  const path = issue.path.map(String);
  const named = path.length === 0 ? '' : `"${path.join('.')}" `;
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    if (secretsOf({ [key]: key }).length > 0)
      return wrong('project-file', `${file}: has an unknown key "${key}"${inside(path)}`, fixOfSecret);
    const known = path.length === 0 ? topKeys() : providerKeys();
    const meant = nearest(key, known);
    const fix = meant === undefined ? `it takes ${known.join(', ')}` : `did you mean "${meant}"?`;
    return problemIn(placeOf([...path, key]), `has an unknown key "${key}"${inside(path)}`, fix);
  }
  if (issue.code === 'custom' && issue.params?.['secret'] === true)
    return wrong('project-file', `${file}: ${named}${issue.message}`, fixOfSecret);
  return problemIn(
    placeOf(path),
    wrongList(issue, path) ?? `${named}${wordsOfIssue(issue)}`,
    'see docs/providers.md, docs/node-types.md and docs/sandbox.md',
  );
}

const fixOfSecret = 'write the name of the variable that has it: "key": "NAME", in a header ${NAME}';

const entryOf: Readonly<Record<string, string>> = { nodes: 'path', setup: 'command' };

/** What is wrong with a list of texts or with an entry of it; undefined for any other part. */
function wrongList({ code }: Issue, [key = '', ...rest]: readonly string[]): string | undefined {
  const entry = entryOf[key];
  if (entry === undefined || (rest.length === 0 && code !== 'invalid_type')) return undefined;
  return rest.length === 0
    ? `"${key}" is no list of ${key === 'nodes' ? 'files' : 'commands'}`
    : `"${key}" has an entry that is no ${entry}`;
}

const topKeys = (): readonly string[] =>
  Object.keys(projectSchema().shape).filter((name) => !name.startsWith('$'));
const providerKeys = (): readonly string[] => Object.keys(providerSchema().shape);
const inside = (path: readonly string[]): string => (path.length === 0 ? '' : ` in "${path.join('.')}"`);

/** zod's words for its own checks say nothing of the value. */
const wordsOfIssue = (issue: Issue): string =>
  issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;

/** The text of a file that may be read, or why it may not. */
function textOfProject(
  file: string,
  owner: ProjectOwner,
): { readonly text: string } | { readonly why: string; readonly fix: string } {
  try {
    const real = realpathSync(file);
    const { size, uid } = statSync(real);
    if (size > mostBytes) return { why: 'is larger than 1 MiB', fix: 'write a smaller one' };
    // The text would be shown in messages, and be that of a file which is none of the project.
    if (owner === 'project' && !isWithin(realpathSync(dirname(file)), real))
      return { why: 'is a symbolic link that leads out of the project', fix: 'write a file in its place' };
    const self = process.getuid?.() ?? uid;
    const isOthers = self !== 0 && uid !== self && uid !== 0;
    if (owner === 'user' && (isOthers || isOpen(real) || isOpen(dirname(real))))
      return {
        why: `may be written by other users, who would get your keys: it is not read`,
        fix: `chmod o-w ${real} ${dirname(real)}, and let the file be your own`,
      };
    // A pipe would be waited for.
    const read = readPlain(real, mostBytes);
    if (read.kind === 'text') return read;
    const why = read.kind === 'none' ? read.why : 'is missing';
    return { why, fix: 'write a file in its place' };
  } catch (error) {
    return { why: `cannot be read: ${systemWords(error)}`, fix: `check ${file}` };
  }
}

const isOpen = (path: string): boolean => (statSync(path).mode & 0o002) !== 0;

/** The line, from an offset on. */
export const placeOfLine = (file: string, text: string, offset: number): Place => ({
  file,
  span: lineOf(text, offset),
});

function lineOf(text: string, offset: number): Place['span'] {
  const end = text.indexOf('\n', offset);
  const at = end === -1 ? text.length : end;
  return { start: positionAt(text, offset), end: positionAt(text, Math.max(offset, at)) };
}

/** Why a module may not be loaded from there. */
export function placeProblem(entry: string, path: string, project: string): string | undefined {
  if (isAbsolute(entry)) return 'is an absolute path: name a file of the project, as ./kind.mjs';
  let real: string;
  try {
    real = realpathSync(path);
  } catch {
    return 'is missing';
  }
  if (!isWithin(realpathSync(project), real)) return 'is outside of the project';
  return statSync(real).isFile() ? undefined : 'is no file';
}
