/** The project of a pipeline: its file `factory.json`. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { Diagnostic, Place } from '../core/diagnostic.ts';
import { isObject } from '../core/json.ts';
import { mapJson, positionAt } from '../core/json-places.ts';
import { nearest } from '../core/nearest.ts';
import { systemWords } from '../platform/files/write.ts';
import { packageRoot } from '../platform/package.ts';
import { isWithin } from '../workspace/roots.ts';

/** Name of the project's file. */
const projectName = 'factory.json';

/** The nearest `factory.json` in a folder or above it: up to the top of the repository, and never through a folder in which other
 *  users may write. Pipelines of factory itself belong to no project. */
export function projectFileOf(folder: string): string | undefined {
  const start = resolve(folder);
  if (isWithin(join(packageRoot(), 'pipelines'), start)) return undefined;
  const owner = statSync(start, { throwIfNoEntry: false })?.uid;
  for (let at = start; ; at = dirname(at)) {
    const is = statSync(at, { throwIfNoEntry: false });
    const isShared = is === undefined || is.uid !== owner || (is.mode & 0o002) !== 0;
    if (isShared && at !== start) return undefined;
    const file = join(at, projectName);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
    if (statSync(join(at, '.git'), { throwIfNoEntry: false }) !== undefined || dirname(at) === at)
      return undefined;
  }
}

type Entries = readonly { readonly entry: string; readonly place: Place }[];

/** The modules that the project's file names. */
export function entriesIn(
  file: string,
): { readonly entries: Entries } | { readonly found: readonly Diagnostic[] } {
  const problem = (message: string, offset: number, fix: string) => ({
    found: [
      {
        code: 'project-file',
        severity: 'error' as const,
        message,
        place: placeOfLine(file, text, offset),
        fix,
      },
    ],
  });
  let text = '';
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return problem(`cannot be read: ${systemWords(error)}`, 0, `check ${file}`);
  }
  const shape = `{ "nodes": ["./kind.mjs"] }`;
  const map = mapJson(text);
  if ('problem' in map) return problem(`is not JSON: ${map.problem}`, map.offset, `write ${shape}`);
  const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''));
  if (!isObject(value)) return problem('is no JSON object', 0, `write ${shape}`);
  const [other] = Object.keys(value).filter((key) => key !== 'nodes');
  if (other !== undefined) {
    const fix =
      nearest(other, ['nodes']) === undefined ? `it takes "nodes": ${shape}` : 'did you mean "nodes"?';
    return problem(`has an unknown key "${other}"`, map.offset([other]), fix);
  }
  const { nodes = [] } = value;
  if (!Array.isArray(nodes))
    return problem('"nodes" is no list of files', map.offset(['nodes']), `write ${shape}`);
  const odd = nodes.findIndex((one) => typeof one !== 'string' || one.trim() === '');
  if (odd >= 0)
    return problem(
      '"nodes" has an entry that is no path',
      map.offset(['nodes', String(odd)]),
      `write ${shape}`,
    );
  return {
    entries: nodes.map((entry, at) => ({
      entry: String(entry),
      place: placeOfLine(file, text, map.offset(['nodes', String(at)])),
    })),
  };
}

/** The line, from an offset on. */
export function placeOfLine(file: string, text: string, offset: number): Place {
  const end = text.indexOf('\n', offset);
  const at = end === -1 ? text.length : end;
  return { file, span: { start: positionAt(text, offset), end: positionAt(text, Math.max(offset, at)) } };
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
