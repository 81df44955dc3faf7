/** Makes a node's directory readable again, whatever its programs did to it. */
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { nodeLayout } from '../model/layout.ts';
import { isCode, isMissing, removeNow } from '../system/files.ts';
import { toBytes } from '../workspace/names.ts';
import { readNames } from '../workspace/walk.ts';

/** Makes everything in a node's directory readable for its owner. Anything but files and folders is removed: through a link
 *  the engine would read files that the sandbox hides from the node, and a pipe would block it. A missing directory, or a file
 *  in its place, is replaced by an empty one. The folder of earlier executions is not entered; a file in its place is removed.
 *  Synchronous, because it is called after every attempt for a few files. No process may be running in the directory. The
 *  entry at `checked` is not removed: its reader checks its kind. Returns the paths directly in the directory that are not
 *  regular files. */
export function reopen(nodeDir: string, checked?: string): readonly string[] {
  const is = opened(nodeDir);
  if (is === 'folder') return openWithin(nodeDir, nodeLayout(nodeDir).visits, checked);
  if (is !== undefined) removeNow(nodeDir);
  try {
    mkdirSync(nodeDir);
  } catch (error) {
    // A missing run directory is reported where it is used.
    if (!isMissing(error)) throw error;
  }
  return [];
}

function openWithin(folder: string, visits?: string, checked?: string): readonly string[] {
  const odd: string[] = [];
  for (const name of readNames(toBytes(folder))) {
    const path = `${folder}/${name}`;
    const is = opened(path);
    if (is === 'folder' || is === 'other') odd.push(path);
    if ((is === 'other' && path !== checked) || (is === 'file' && path === visits)) removeNow(toBytes(path));
    else if (is === 'folder' && path !== visits) openWithin(path);
  }
  return odd;
}

function opened(name: string): 'folder' | 'file' | 'other' | undefined {
  const path = toBytes(name);
  const is = lstatSync(path, { throwIfNoEntry: false });
  if (is === undefined) return undefined;
  const least = is.isDirectory() ? 0o700 : is.isFile() ? 0o400 : 0;
  try {
    if ((is.mode & least) !== least) chmodSync(path, (is.mode & 0o7777) | least | 0o200);
  } catch (error) {
    // A missing entry, or one of another user, is reported where it is used.
    if (!isCode(error, 'ENOENT', 'EPERM')) throw error;
  }
  return is.isDirectory() ? 'folder' : is.isFile() ? 'file' : 'other';
}
