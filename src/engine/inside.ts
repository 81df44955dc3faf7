/** Whether paths that a stage names stay where they belong. */
import { mkdirSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDisks } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, isMissing, writeFileAtomic } from '../system/files.ts';

/** False when the path, or the nearest part of it that exists, leads out of the workspace by a link. */
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

/** What stands in the way of a file, by the system's words: a folder, a file or a link in a circle in its place or on the
 *  way to it, a folder that is closed, a name that is too long. */
const inTheWay = [
  ...['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOENT', 'ENOTEMPTY', 'ELOOP', 'ENAMETOOLONG'],
  ...['EACCES', 'EPERM'],
] as const;

/** Writes a file of the workspace, or answers why it cannot be there: earlier stages put into its place, or on the way to
 *  it, what they like. Rejects for a trouble of the disk itself: what is to be written may have been paid for. */
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
