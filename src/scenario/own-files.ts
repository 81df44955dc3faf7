/** What a scenario consists of, and whether somebody wrote there while it ran. */
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { mayTouch } from '../policy/touching.ts';

/** The files and links of a folder as they are now. What is new in it later is nobody's. */
export function ownFiles(folder: string): { changed(): readonly string[] } {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() || one.isSymbolicLink())
    .map((one) => join(one.parentPath, one.name))
    .filter((path) => !/\/__pycache__\/|\.pyc$/.test(path.slice(folder.length)))
    .sort();
  const hashed = mayTouch(contents(paths));
  const before = paths.map((path) => factsOf(path, hashed));
  return {
    changed: () =>
      paths
        .filter((path, n) => factsOf(path, hashed) !== before[n])
        .map((path) => path.slice(folder.length + 1)),
  };
}

function* contents(paths: readonly string[]): Generator<Buffer> {
  for (const path of paths)
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile()) yield readFileSync(path);
}

/** The change time tells of every write, but of a mode that was set as well. Empty for what cannot be looked at. */
function factsOf(path: string, hashed: boolean): string {
  try {
    const is = lstatSync(path, { bigint: true });
    const told = !hashed ? is.ctimeNs : is.isFile() ? sha256(readFileSync(path)) : '';
    return `${is.ino} ${is.size} ${is.mtimeNs} ${told}`;
  } catch {
    return '';
  }
}
