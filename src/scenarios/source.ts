/** The private copy of the scenarios' folder. It is made and hashed before any product runs; every run of a scenario works on a
 *  copy of it. */
import { constants, lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { copyFile, cp, mkdir, readdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Environment } from '../core/contracts/process.ts';
import { sha256 } from '../core/sha256.ts';
import { makeTemporary, temporaryOf } from '../platform/files/temporary.ts';
import { isCache } from './own-files.ts';

export type ProductCopy = { readonly folder: string; readonly hash: string };

/** Copies the folder `from` to the new folder `to` except `.git`, `.factory`, caches of Python, sockets and pipes, and the temporary
 *  folders of this and other runs of scenarios (`room` is this one's). */
export async function copySource(from: string, to: string, room: string): Promise<ProductCopy> {
  const top = await realpath(from);
  await copyFolder(top, to, (path) => {
    if (path === top) return true;
    const at = relative(top, path);
    if (basename(path) === '.git' || at.split(sep)[0] === '.factory' || isCache(at)) return false;
    return !isSiblingRoom(room, path) && isOrdinary(path);
  });
  await followLinks(top, to);
  return { folder: to, hash: hashOfFolder(to) };
}

/** A copy of the source for one run; undefined if the source is no longer what was copied at the start. */
export async function copyOfSource(
  { folder, hash }: ProductCopy,
  to: string,
): Promise<ProductCopy | undefined> {
  if (hashOfFolder(folder) !== hash) return undefined;
  await copyFolder(folder, to, isOrdinary);
  // Compared again: the source could have been changed while it was copied.
  return hashOfFolder(to) === hash ? { folder: to, hash } : undefined;
}

/** `cp` refuses to copy a folder into itself, so that is done folder by folder: a lone scenario may lie in the system's
 *  temporary folder. */
async function copyFolder(from: string, to: string, filter: (path: string) => boolean): Promise<void> {
  if (!to.startsWith(`${from}/`))
    return cp(from, to, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      mode: constants.COPYFILE_FICLONE,
      filter,
    });
  await mkdir(to);
  for (const name of await readdir(from))
    if (filter(join(from, name))) await copyFolder(join(from, name), join(to, name), filter);
}

function isOrdinary(path: string): boolean {
  const is: Stats | undefined = lstatSync(path, { throwIfNoEntry: false });
  return is !== undefined && (is.isFile() || is.isDirectory() || is.isSymbolicLink());
}

/** Replaces links in the copy `to` that lead to files outside `top` by these files: a relative link would be broken there. */
async function followLinks(top: string, to: string): Promise<void> {
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const place = join(entry.parentPath, entry.name);
    const real = await realpath(join(top, relative(to, place))).catch(() => undefined);
    if (real === undefined || real.startsWith(`${top}${sep}`) || !(await stat(real)).isFile()) continue;
    await rm(place);
    await copyFile(real, place);
  }
}

/** A hash of all names, kinds, permissions and contents; empty if the folder cannot be read. */
export function hashOfFolder(folder: string): string {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
    return sha256(names.map((name) => `${name}\0${factsOf(join(folder, name))}`).join('\n'));
  } catch {
    return '';
  }
}

function factsOf(path: string): string {
  try {
    const is = lstatSync(path);
    if (is.isSymbolicLink()) return `link ${readlinkSync(path)}`;
    if (is.isDirectory()) return `folder ${is.mode}`;
    return `file ${is.mode} ${is.isFile() ? sha256(readFileSync(path)) : ''}`;
  } catch {
    return 'unreadable';
  }
}

/** Temporary folders that scenarios run in. They are below the system's temporary folder, so that the next run removes those of
 *  a killed one, which contain readable scenarios. */
const kind = 'scenario';

export const makeRoom = async (env: Environment): Promise<string> =>
  realpath(await makeTemporary(temporaryOf(env), kind));

/** Whether `path` is the temporary folder of this or another run of scenarios. */
const isSiblingRoom = (room: string, path: string): boolean =>
  dirname(path) === dirname(room) && basename(path).startsWith(`${kind}-`);

/** The temporary folders of this and other runs of scenarios. */
export async function siblingRooms(room: string): Promise<readonly string[]> {
  const names = await readdir(dirname(room));
  return names.map((name) => join(dirname(room), name)).filter((path) => isSiblingRoom(room, path));
}
