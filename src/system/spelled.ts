/** Names on case-insensitive file systems, such as on macOS: a path is found by one spelling and listed by another.
 *  The two Unicode forms of an accent count as one spelling there, too. */
import { lstatSync, readdirSync } from 'node:fs';
import { isCode, isMissing } from './files.ts';

/** A key that is equal for all spellings that such a file system treats as one. */
export const folded = (path: string): string =>
  path.normalize('NFD').toUpperCase().toLowerCase().normalize('NFD');

/** The slash path below `root` as its folders list it. A path that does not exist or cannot be read is returned
 *  unchanged. */
export function asListed(root: string, path: string): string {
  let folder = root;
  const listed = path.split('/').map((name) => {
    const found = listedIn(folder, name);
    folder += `/${found}`;
    return found;
  });
  return listed.join('/');
}

function listedIn(folder: string, name: string): string {
  try {
    const isThere = (one: string) => lstatSync(`${folder}/${one}`, { throwIfNoEntry: false }) !== undefined;
    // Folders are listed only where the name may have another spelling: they may be long, and the names many.
    if (!isThere(name) || !otherSpellings(name).some(isThere)) return name;
    const names = readdirSync(folder);
    return names.includes(name) ? name : (names.find((one) => folded(one) === folded(name)) ?? name);
  } catch (error) {
    if (isMissing(error) || isCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG', 'EILSEQ')) return name;
    throw error;
  }
}

function otherSpellings(name: string): string[] {
  const turned = name.replace(/[a-z]/gi, (char) => (char >= 'a' ? char.toUpperCase() : char.toLowerCase()));
  const spellings = [turned, name.normalize('NFD'), name.normalize('NFC'), name.toUpperCase()];
  return [...new Set(spellings)].filter((one) => one !== name);
}
