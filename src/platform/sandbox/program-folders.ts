/** The folders in which a confined program finds the interpreters that it would find outside. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { isProgram } from '../files/read.ts';

/** Interpreters that are often reached by links from one place to another; without the target the next folder of PATH has another one. */
const linked = ['python3', 'python'];

const known = new Map<string, readonly string[]>();

/** The folders of PATH, and those to which its interpreters are links. */
export function programFolders(path: string): readonly string[] {
  const found = known.get(path) ?? look(path);
  known.set(path, found);
  return found;
}

function look(path: string): readonly string[] {
  const folders = path.split(delimiter).filter(isAbsolute);
  return [...new Set([...folders, ...linked.flatMap((name) => targets(name, folders))])];
}

/** The folders on the way from the first program of that name to the file itself. */
function targets(name: string, folders: readonly string[]): readonly string[] {
  const first = folders.map((folder) => join(folder, name)).find(isProgram);
  if (first === undefined) return [];
  const passed: string[] = [];
  try {
    let at = first;
    // The longest chain that the system follows.
    for (let hop = 0; hop < 40 && lstatSync(at).isSymbolicLink(); hop++) {
      at = resolve(dirname(at), readlinkSync(at));
      passed.push(dirname(at));
    }
    return passed.length === 0 ? [] : [...passed, dirname(realpathSync(first))];
  } catch {
    return passed;
  }
}
