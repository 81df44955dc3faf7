/** File names in any bytes as strings that survive JSON: what is not UTF-8 becomes lone low surrogates. */
import { isUtf8 } from 'node:buffer';
import { lstatSync, readdirSync } from 'node:fs';
import { folded } from '../../core/records/names.ts';
import { isCode, isMissing } from './write.ts';

// Much the faster of the two, and all that most names need.
const anySurrogate = /[\uD800-\uDFFF]/;
const loneSurrogate = /[\uDC80-\uDCFF]/u;

/** A name as text. A byte that is no part of valid UTF-8 becomes U+DC00 plus the byte, so no two names meet. */
export function fromBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((n) => at + n <= bytes.length && isUtf8(bytes.subarray(at, at + n)));
    if (length === undefined) text += String.fromCharCode(0xdc00 + bytes.readUInt8(at));
    else text += bytes.toString('utf8', at, at + length);
    at += length ?? 1;
  }
  return text;
}

/** What the system is given for a name: the text itself, or its bytes where it stands for bytes that are no UTF-8. */
export function toBytes(text: string): string | Buffer {
  if (!anySurrogate.test(text) || !loneSurrogate.test(text)) return text;
  const parts = [...text].map((character) =>
    loneSurrogate.test(character)
      ? Buffer.from([character.charCodeAt(0) - 0xdc00])
      : Buffer.from(character, 'utf8'),
  );
  return Buffer.concat(parts);
}

/** The path of `relative` (slash path, may be empty) below `root`, as the system wants it. */
export const below = (root: string, relative: string): string | Buffer =>
  toBytes(relative === '' ? root : `${root}/${relative}`);

/** The folder part of a slash path; empty at the top. */
export const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** The folders above a slash path, topmost first. */
export function ancestorsOf(path: string): string[] {
  const found: string[] = [];
  for (let at = parentOf(path); at !== ''; at = parentOf(at)) found.unshift(at);
  return found;
}

/** Whether a slash path is one of `paths` or lies below one. */
export function liesIn(paths: ReadonlySet<string>, path: string): boolean {
  for (let at = path; at !== ''; at = parentOf(at)) if (paths.has(at)) return true;
  return false;
}

/** Whether a slash path is below one of `folders`. Each folder above is checked once: with hundreds of nested folders,
 *  checking all of them for every path takes minutes. */
export function liesBelow(folders: ReadonlySet<string>): (path: string) => boolean {
  const known = new Map([['', false]]);
  return (path) => {
    const unknown: string[] = [];
    let at = parentOf(path);
    for (; !known.has(at); at = parentOf(at)) unknown.push(at);
    let lies = known.get(at) === true;
    for (const folder of unknown.reverse()) {
      lies ||= folders.has(folder);
      known.set(folder, lies);
    }
    return lies;
  };
}

/** How a path is shown to people: other bytes and control characters as `\xNN`. */
export const shownPath = (path: string): string =>
  path.replace(/[\uDC80-\uDCFF\x00-\x1f\x7f]/gu, (character) => {
    const code = character.charCodeAt(0);
    return `\\x${(code >= 0xdc00 ? code - 0xdc00 : code).toString(16).padStart(2, '0')}`;
  });

/** For lstat: undefined instead of an error where nothing is. */
export const orUndefined = { throwIfNoEntry: false } as const;

/* Names on case-insensitive file systems, such as on macOS: a path is found by one spelling and listed by another.
 *  The two Unicode forms of an accent count as one spelling there, too. */

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
