/** What a stage has left of its own folder: it may lock it, and put there what it likes, and the engine must read on. */
import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { nodeLayout } from '../model/layout.ts';
import { isCode, isMissing, removeNow } from '../system/files.ts';
import { toBytes } from '../workspace/names.ts';
import { readNames } from '../workspace/walk.ts';

/** Makes everything in a node's folder readable to its owner, and folders usable. What is neither file nor folder goes: by
 *  a link the engine would read, and tell others, what a confined stage cannot see, and at a pipe it would wait for ever. A
 *  folder that is gone, or something else by now, is there again, empty. Nobody else may be at work in it. Of earlier
 *  visits, which lie in it and were opened in their time, only the folder is looked at; a file in its place goes. In calls
 *  that wait: it is done after every stage, for a handful of files. What stands at `judged` stays for whoever looks itself
 *  at what it is. Answers the paths of what stood right in the folder and was no plain file. */
export function reopen(nodeDir: string, judged?: string): readonly string[] {
  const is = opened(nodeDir);
  if (is === 'folder') return openWithin(nodeDir, nodeLayout(nodeDir).visits, judged);
  if (is !== undefined) removeNow(nodeDir);
  try {
    mkdirSync(nodeDir);
  } catch (error) {
    // A run directory that is gone is told by whoever needs it.
    if (!isMissing(error)) throw error;
  }
  return [];
}

function openWithin(folder: string, visits?: string, judged?: string): readonly string[] {
  const odd: string[] = [];
  for (const name of readNames(toBytes(folder))) {
    const path = `${folder}/${name}`;
    const is = opened(path);
    if (is === 'folder' || is === 'other') odd.push(path);
    if ((is === 'other' && path !== judged) || (is === 'file' && path === visits)) removeNow(toBytes(path));
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
    // What is gone, or somebody else's, is told by whoever needs it.
    if (!isCode(error, 'ENOENT', 'EPERM')) throw error;
  }
  return is.isDirectory() ? 'folder' : is.isFile() ? 'file' : 'other';
}
