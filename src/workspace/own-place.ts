/** Files that name the folder they lie in by its absolute path, as build folders, worktrees and virtual environments do: in
 *  a copy of that folder they still mean the first one. */
import { lstat } from 'node:fs/promises';
import { largeFrom, readSmall } from './content.ts';
import { below, shown, toBytes } from './names.ts';
import type { Tree } from './snapshot.ts';
import { isDenied } from './trouble.ts';

/** Tells of a file's content whether it names `place` (an absolute path) or something in it. Only of texts: what programs
 *  are made of names the place of their sources, and nobody goes there. */
export function namesPlace(place: string): (content: Buffer) => boolean {
  const name = Buffer.from(toBytes(place));
  const isAt = (content: Buffer, at: number): boolean =>
    !isOfName(content[at + name.length]) &&
    // It may be the end of another path, but for what a compiler is told (`-I/src/app`).
    (!isOfName(content[at - 1]) || content[at - 2] === dash);
  return (content) => {
    if (place === '/') return false;
    for (let at = content.indexOf(name); at >= 0; at = content.indexOf(name, at + 1))
      if (isAt(content, at)) return !content.includes(0);
    return false;
  };
}

const dash = 0x2d;

/** Letters, digits and what else a longer name would go on with. */
function isOfName(byte: number | undefined): boolean {
  return byte !== undefined && (byte > 0x7f || /[\w.-]/.test(String.fromCharCode(byte)));
}

/** The files of a tree, which stands in `folder`, that name `place`. Left out are large ones, and those that may not be read. */
export async function filesNaming(place: string, tree: Tree, folder: string): Promise<readonly string[]> {
  const namesIt = namesPlace(place);
  const found: string[] = [];
  let looked = 0;
  for (const [path, { kind, size = 0 }] of tree) {
    if (kind !== 'file' || size > largeFrom || size < place.length || isOurs(path)) continue;
    looked += 1;
    // Ctrl-C gets a turn.
    if (looked % 256 === 0) await lstat(folder);
    const bytes = allowed(() => readSmall(below(folder, path), size));
    if (bytes !== undefined && namesIt(bytes)) found.push(path);
  }
  return found;
}

/** What pipelines keep in a workspace: records, by which nobody goes. */
export const isOurs = (path: string): boolean => path.startsWith('.factory/');

function allowed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isDenied(error)) return undefined;
    throw error;
  }
}

/** What is told of such files in a copy of `place`: nothing where there are none. */
export function noteOf(paths: readonly string[], place: string): readonly string[] {
  if (paths.length === 0) return [];
  const few = paths.slice(0, 3).map(shown).join(', ');
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
  return [`copied, though a stage that goes by it works in ${shown(place)}, not in the copy: ${few}${more}`];
}
