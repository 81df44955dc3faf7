/** What a stage has locked in its own folder is opened again: it may set modes as it likes, and the engine must read on. */
import { chmodSync, lstatSync, type Stats } from 'node:fs';
import { nodeLayout } from '../model/layout.ts';
import { isCode } from '../system/files.ts';
import { toBytes } from '../workspace/names.ts';
import { readNames } from '../workspace/walk.ts';

/** Makes everything in a node's folder readable to its owner, and folders usable. Nobody else may be at work in it. Of
 *  earlier visits, which lie in it and were opened in their time, only the folder is looked at. In calls that wait: it is
 *  done after every stage, for a handful of files. */
export function reopen(nodeDir: string): void {
  if (!opened(nodeDir)) return;
  for (const name of readNames(toBytes(nodeDir))) {
    const path = `${nodeDir}/${name}`;
    if (path === nodeLayout(nodeDir).visits) opened(path);
    else reopen(path);
  }
}

/** True for a folder. */
function opened(name: string): boolean {
  const path = toBytes(name);
  let is: Stats;
  try {
    is = lstatSync(path);
    const least = is.isDirectory() ? 0o700 : is.isFile() ? 0o400 : 0;
    if ((is.mode & least) !== least) chmodSync(path, (is.mode & 0o7777) | least | 0o200);
    return is.isDirectory();
  } catch (error) {
    // What is gone, or somebody else's, is told by whoever needs it.
    if (isCode(error, 'ENOENT', 'EPERM', 'ENOTDIR')) return false;
    throw error;
  }
}
