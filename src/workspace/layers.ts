/** Folders that cannot be renamed, although their new place is on the same disk: on an overlay, which is what a container
 *  has, those of a layer below (EXDEV). The files in them can be, and can get another name. */
import { chmodSync, linkSync, lstatSync, lutimesSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { beforeWrite } from '../system/fence.ts';
import { isCode, removeNow, unlockFolder } from '../system/files.ts';
import { timeOf } from './facts.ts';
import { toBytes } from './names.ts';
import { orUndefined, readNames } from './walk.ts';

/** Renames; false where it is a folder that cannot be renamed, and then nothing is done. */
export function renamed(from: string, to: string): boolean {
  beforeWrite(to);
  try {
    renameSync(toBytes(from), toBytes(to));
    return true;
  } catch (error) {
    if (!isCode(error, 'EXDEV') || !isFolder(from)) throw error;
    return false;
  }
}

/** Moves a folder that cannot be renamed, name by name: whatever stands at one of the new ones goes. When it is cut, each
 *  name is at one of the two places, and another call finishes it. */
export function moveContents(from: string, to: string): void {
  const { mode, atimeMs, mtimeMs } = lstatSync(toBytes(from));
  beforeWrite(to);
  unlockFolder(toBytes(from));
  mkdirSync(toBytes(to), { recursive: true });
  unlockFolder(toBytes(to));
  for (const name of readNames(toBytes(from))) {
    const [old, its] = [`${from}/${name}`, `${to}/${name}`];
    if (isFolder(old) && isFolder(its)) moveContents(old, its);
    else {
      removeNow(toBytes(its));
      if (!renamed(old, its)) moveContents(old, its);
    }
  }
  beforeWrite(to);
  lutimesSync(toBytes(to), timeOf(atimeMs), timeOf(mtimeMs));
  chmodSync(toBytes(to), mode & 0o7777);
  rmdirSync(toBytes(from));
}

/** Makes `to` another name of a file, or a folder with other names of all files of that one. It must not be there. */
export function linkTree(from: string, to: string): void {
  beforeWrite(to);
  const { mode, atimeMs, mtimeMs } = lstatSync(toBytes(from));
  if (!isFolder(from)) {
    linkSync(toBytes(from), toBytes(to));
    return;
  }
  mkdirSync(toBytes(to), { mode: 0o700 });
  try {
    unlockFolder(toBytes(from));
    for (const name of readNames(toBytes(from))) linkTree(`${from}/${name}`, `${to}/${name}`);
  } finally {
    chmodSync(toBytes(from), mode & 0o7777);
  }
  beforeWrite(to);
  lutimesSync(toBytes(to), timeOf(atimeMs), timeOf(mtimeMs));
  chmodSync(toBytes(to), mode & 0o7777);
}

const isFolder = (path: string): boolean => lstatSync(toBytes(path), orUndefined)?.isDirectory() === true;
