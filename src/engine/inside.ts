/** Keeps paths that a node names inside the workspace. */
import { mkdirSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDisks } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, isMissing, writeFileAtomic } from '../system/files.ts';

/** False if the path, or the nearest existing folder above it, leads out of the workspace by a symbolic link. */
export async function staysInside(workspace: string, path: string): Promise<boolean> {
  const root = await realpath(workspace);
  for (let at = join(workspace, path); ; at = dirname(at)) {
    try {
      const real = await realpath(at);
      return real === root || real.startsWith(`${root}/`);
    } catch (error) {
      if (!isMissing(error) || at === workspace) return false;
    }
  }
}

/** Errors caused by what a node put at or above the path: a folder, a file or a circular link, a locked folder, or by a name
 *  that is too long. */
const inTheWay = [
  ...['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOENT', 'ENOTEMPTY', 'ELOOP', 'ENAMETOOLONG'],
  ...['EACCES', 'EPERM'],
] as const;

/** Writes a file of the workspace, or returns why that is impossible: earlier nodes may have put anything at or above the path.
 *  Rejects on a disk error: the text may have been paid for, so the run must stop. */
export async function writeInside(
  workspace: string,
  path: string,
  content: string,
): Promise<string | undefined> {
  const place = join(workspace, path);
  if (!(await staysInside(workspace, dirname(path)))) return 'it leads out of the workspace by a link';
  try {
    beforeWrite(place);
    mkdirSync(dirname(place), { recursive: true });
    await writeFileAtomic(place, content);
    return undefined;
  } catch (error) {
    if (isDisks(error, workspace) || !isCode(error, ...inTheWay)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}
