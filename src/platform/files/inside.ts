/** Reads and writes files of a workspace whose nodes may have put links anywhere: none is followed out of it. */
import { lstatSync, realpathSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { isDisks } from './disk-error.ts';
import { beforeWrite } from './fence.ts';
import { type Plain, readPlain } from './read.ts';
import { isCode, isMissing, makeFolder, removeNow, type WriteOptions, writeFileAtomic } from './write.ts';

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
    makeFolder(dirname(place));
    await writeFileAtomic(place, content);
    return undefined;
  } catch (error) {
    if (isDisks(error, workspace) || !isCode(error, ...inTheWay)) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Throws ELOOP if a folder above `path` is a link, so that what is below it may be anywhere. Call it right before a change. */
export function assertNoLinkAbove(workspace: string, path: string): void {
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const folder = join(workspace, path.slice(0, at));
    if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw Object.assign(new Error(`ELOOP: ${folder} is a symbolic link`), { code: 'ELOOP', path: folder });
  }
}

/** Throws ELOOP if a path that a command of a node names leads out of its workspace by a link: an earlier node may have put it
 *  there. Paths typed by hand may lead anywhere. */
export function assertStaysInNode(
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string | undefined>> },
  path: string,
): void {
  if (env['FACTORY_NODE'] === undefined || isAbsolute(path)) return;
  const real = realpathIfThere(join(cwd, path));
  if (real === undefined || real.startsWith(`${realpathSync(cwd)}/`)) return;
  throw Object.assign(new Error(`ELOOP: ${path} leads out of the workspace`), { code: 'ELOOP', path });
}

function realpathIfThere(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    // Reading it reports the reason.
    return undefined;
  }
}

/** Files of the workspace for steps of our own, which run outside the sandbox: no link is followed. */
export const filesInside = (workspace: string) => ({
  /** A link in place of the file counts as something else. */
  read(path: string): Plain {
    assertNoLinkAbove(workspace, path);
    const place = join(workspace, path);
    if (lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      return { kind: 'none', why: 'is a symbolic link' };
    return readPlain(place);
  },
  async write(path: string, text: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    assertNoLinkAbove(workspace, path);
    await writeFileAtomic(join(workspace, path), text, options);
  },
  /** Removes a file, a link or a whole folder. */
  remove(path: string): void {
    assertNoLinkAbove(workspace, path);
    const place = join(workspace, path);
    beforeWrite(place);
    removeNow(place);
  },
});
