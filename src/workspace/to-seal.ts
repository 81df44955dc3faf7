/** Files read out of a folder to be sealed. No link is followed. */
import { lstatSync, readFileSync } from 'node:fs';
import type { SealedFile } from '../model/sealed.ts';
import { ancestorsOf, below, shown, toBytes } from './names.ts';
import { trouble, WorkspaceError } from './trouble.ts';
import { type Found, look, targetOf, walk } from './walk.ts';

export type Read = {
  /** Where the files shall appear: `path` below `root` becomes `as`. */
  readonly as: string;
  /** Of paths relative to `root`: what is left out. */
  readonly leaveOut: (path: string, isFolder: boolean) => boolean;
  /** Most bytes of all contents together. */
  readonly most: number;
};

/** Everything at and below `path` of the folder `root` (empty: the folder itself); nothing when it is not there. Throws a
 *  WorkspaceError for what cannot be sealed: what leads over a link, sockets, pipes, devices, too many bytes. */
export function readForSealing(root: string, path: string, { as, leaveOut, most }: Read): SealedFile[] {
  for (const folder of path === '' ? [] : [...ancestorsOf(path), path]) {
    const found = look(root, folder);
    if (found === undefined) return [];
    if (found.kind === 'link')
      throw new WorkspaceError(
        `"${shown(path)}" cannot be sealed: ${folder === path ? 'it' : `"${shown(folder)}"`} is a link`,
      );
  }
  const top = path === '' ? lookAtTop(root) : look(root, path);
  if (top === undefined || leaveOut(path, top.kind === 'dir')) return [];
  const files: SealedFile[] = [];
  let bytes = 0;
  const take = (found: Found, place: string, name: string): void => {
    const { kind, mode } = found;
    if (kind === 'special')
      throw new WorkspaceError(
        `"${shown(place)}" cannot be sealed: it is a socket, a pipe or a device, which cannot be kept`,
      );
    if (kind === 'file') bytes += found.stat.size;
    if (bytes > most)
      throw new WorkspaceError(`what is to be sealed is larger than ${most} bytes: it is held in memory`);
    files.push({ path: name, kind, mode, content: contentOf(root, place, kind) });
  };
  take(top, path, as);
  if (top.kind !== 'dir') return files;
  const place = (one: string) => (path === '' ? one : `${path}/${one}`);
  const left = (found: Found) => leaveOut(place(found.path), found.kind === 'dir');
  for (const found of walk(path === '' ? root : `${root}/${path}`, { enter: (one) => !left(one) }))
    if (!left(found)) take(found, place(found.path), `${as}/${found.path}`);
  return files;
}

function lookAtTop(root: string): Found {
  const stat = lstatSync(root);
  return { path: '', kind: 'dir', mode: stat.mode & 0o7777, stat };
}

function contentOf(root: string, path: string, kind: SealedFile['kind']): Buffer {
  if (kind === 'dir') return Buffer.alloc(0);
  if (kind === 'link') return Buffer.from(toBytes(targetOf(root, path)));
  try {
    return readFileSync(below(root, path));
  } catch (error) {
    throw trouble('read', path, error);
  }
}
