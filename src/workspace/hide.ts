/** Puts paths of a workspace out of sight and back, exactly, also after a crash at any moment. */
import { chmodSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { cleanPath } from '../core/policy/paths.ts';
import { innerPath } from '../core/records/names.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { ancestorsOf, below, fromBytes, parentOf, toBytes } from '../platform/files/names.ts';
import { readPlain } from '../platform/files/read.ts';
import { unlessMissing } from '../platform/files/remove.ts';
import { DamagedStore, trouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { isMissing, writeJson } from '../platform/files/write.ts';
import { clearFolder } from './clear.ts';
import { assertWorkspaceRoot } from './roots.ts';
import { look, walk } from './walk.ts';

/** Where hidden paths are kept, and the list of them; both outside the workspace, on the same file system. Absolute. */
export type HidingPlace = { readonly folder: string; readonly list: string };

/** What is to be out of sight; paths relative to the workspace. With `only`, everything but these paths, what lies
 *  below them and the folders that lead to them. */
export type OutOfSight = {
  readonly hidden: readonly string[];
  readonly only?: readonly string[];
};

const permissions = once(() => z.int().min(0).max(0o7777));

/** The n-th path waits under the name n. `mode` is the permission bits of a folder, null for anything else. `folders` are
 *  all those above the paths: what is brought back goes through them and through no link. */
const hiddenListSchema = once(() =>
  z
    .object({
      schema_version: z.literal(1),
      paths: z.array(z.object({ path: innerPath(), mode: permissions().nullable() })),
      folders: z.array(z.object({ path: innerPath(), mode: permissions() })),
    })
    .refine(({ paths, folders }) => {
      const named = new Set(folders.map(({ path }) => path));
      return paths.every(({ path }) => ancestorsOf(path).every((folder) => named.has(folder)));
    }, 'folders are missing'),
);
type HiddenList = z.infer<ReturnType<typeof hiddenListSchema>>;

/** Moves the paths away with what is below them, and returns them. Rejects with a WorkspaceError when one of
 *  them cannot be moved; then all are where they were. The list is on the disk before the first move. */
export async function hide(
  workspace: string,
  place: HidingPlace,
  what: OutOfSight,
): Promise<readonly string[]> {
  await bringBack(workspace, place);
  const paths = await pathsToHide(workspace, what);
  if (paths.length === 0) return [];
  const folders = [...new Set(paths.flatMap(ancestorsOf))].sort();
  const list: HiddenList = {
    schema_version: 1,
    paths: paths.map((path) => ({ path, mode: folderMode(workspace, path) ?? null })),
    folders: folders.flatMap((path) => {
      const mode = folderMode(workspace, path);
      return mode === undefined ? [] : [{ path, mode }];
    }),
  };
  beforeWrite(place.list);
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  chmodSync(place.folder, 0o700);
  await writeJson(place.list, list, { sync: true, syncFolder: true });
  let at = '';
  try {
    unlock(workspace, list.folders);
    for (const [n, { path, mode }] of list.paths.entries()) {
      at = path;
      if (mode !== null) unlock(workspace, [{ path, mode }]);
      beforeWrite(workspace);
      renameSync(toBytes(`${workspace}/${path}`), join(place.folder, String(n)));
    }
    setModes(workspace, list.folders);
    // A process of a user other than root cannot look for them there.
    beforeWrite(place.folder);
    chmodSync(place.folder, 0);
    return paths;
  } catch (error) {
    await bringBack(workspace, place);
    throw trouble('hide', at, error);
  }
}

/** Moves everything back and returns, sorted, the files that were made meanwhile where hidden ones belong: they are
 *  removed, the originals win. Nothing happens where nothing is hidden. An interrupted call is finished by the next one. Rejects with a DamagedStore where the list is not what was written. */
export async function bringBack(workspace: string, place: HidingPlace): Promise<readonly string[]> {
  const list = readList(place.list);
  if (list === undefined) return [];
  const conflicts = new Set<string>();
  // A process that took the run over may be hiding again: `beforeWrite` comes right before each change.
  const remove = (path: string): void => {
    for (const file of filesAt(workspace, path)) conflicts.add(file);
    clearFolder(workspace, path);
  };
  beforeWrite(place.list);
  unlessMissing(() => chmodSync(place.folder, 0o700));
  try {
    assertWorkspaceRoot(workspace);
    for (const { path } of list.folders) {
      const found = look(workspace, path);
      if (found?.kind === 'dir') continue;
      // A file or a link in a folder's place would move hidden paths elsewhere.
      if (found !== undefined) remove(path);
      beforeWrite(workspace);
      mkdirSync(below(workspace, path), { mode: 0o700 });
    }
    unlock(workspace, list.folders);
    for (const [n, { path, mode }] of list.paths.entries()) {
      if (look(place.folder, String(n)) !== undefined) {
        if (look(workspace, path) !== undefined) remove(path);
        beforeWrite(workspace);
        renameSync(join(place.folder, String(n)), toBytes(`${workspace}/${path}`));
      }
      if (mode !== null) setModes(workspace, [{ path, mode }]);
    }
    setModes(workspace, list.folders);
    beforeWrite(place.list);
    unlessMissing(() => rmdirSync(place.folder));
    beforeWrite(place.list);
    rmSync(place.list, { force: true });
  } catch (error) {
    throw trouble('bring hidden files back to', workspace, error);
  }
  return [...conflicts].sort();
}

function readList(path: string): HiddenList | undefined {
  const read = readPlain(path);
  if (read.kind === 'missing') return undefined;
  try {
    return hiddenListSchema().parse(JSON.parse(read.kind === 'text' ? read.text : ''));
  } catch (error) {
    throw new DamagedStore(`${path} is damaged: it does not say where hidden files belong`, {
      cause: error,
    });
  }
}

/** What has to be out of sight: the topmost paths that are there, links resolved. Rejects with a WorkspaceError for what
 *  cannot be hidden. */
export async function pathsToHide(
  workspace: string,
  { hidden, only }: OutOfSight,
): Promise<readonly string[]> {
  const all = new Set<string>();
  for (const entry of hidden) for (const path of await real(workspace, cleanPath(entry))) all.add(path);
  if (only !== undefined) for (const path of outside(workspace, '', only.map(cleanPath))) all.add(path);
  return [...all].sort().filter((path) => !ancestorsOf(path).some((folder) => all.has(folder)));
}

/** The path with the links on its way resolved, and what it leads to itself where that is in the workspace too. */
async function real(workspace: string, path: string): Promise<readonly string[]> {
  if (path === '') throw new WorkspaceError('cannot hide the whole workspace');
  const found = look(workspace, path);
  if (found === undefined) return [];
  const root = await realpath(workspace);
  const within = async (at: string): Promise<string | undefined> => {
    const target = fromBytes(await realpath(below(workspace, at), { encoding: 'buffer' }));
    if (target === root) return '';
    return target.startsWith(`${root}/`) ? target.slice(root.length + 1) : undefined;
  };
  const folder = await within(parentOf(path));
  if (folder === undefined)
    throw new WorkspaceError(`cannot hide "${path}": it leads out of the workspace by a link`);
  const itself =
    folder === ''
      ? path.slice(parentOf(path).length).replace(/^\//, '')
      : `${folder}/${path.slice(path.lastIndexOf('/') + 1)}`;
  if (found.kind !== 'link') return [itself];
  const target = await within(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw trouble('hide', path, error);
  });
  return target === undefined || target === '' ? [itself] : [itself, target];
}

/** What lies in `folder` and is neither in sight nor on the way to something that is. */
function* outside(workspace: string, folder: string, inSight: readonly string[]): Generator<string> {
  const children = walk(folder === '' ? workspace : `${workspace}/${folder}`, { enter: () => false });
  for (const { path: name, kind } of children) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (inSight.some((one) => one === '' || path === one || path.startsWith(`${one}/`))) continue;
    if (!inSight.some((one) => one.startsWith(`${path}/`))) yield path;
    else if (kind === 'dir') yield* outside(workspace, path, inSight);
  }
}

function folderMode(workspace: string, path: string): number | undefined {
  const found = look(workspace, path);
  return found?.kind === 'dir' ? found.mode : undefined;
}

/** Files, links and the like at and below a path; a folder without any is nobody's work. */
function filesAt(workspace: string, path: string): string[] {
  if (look(workspace, path)?.kind !== 'dir') return [path];
  // Unlocked on the way, so that it can be removed.
  return [...walk(`${workspace}/${path}`, { unlock: true })]
    .filter((found) => found.kind !== 'dir')
    .map((found) => `${path}/${found.path}`);
}

type Folder = { readonly path: string; readonly mode: number };

/** Nothing can be moved out of a folder, nor a folder moved, that its owner may not write. */
function unlock(workspace: string, folders: readonly Folder[]): void {
  for (const { path } of folders) {
    const mode = folderMode(workspace, path);
    if (mode === undefined || (mode & 0o700) === 0o700) continue;
    beforeWrite(workspace);
    chmodSync(toBytes(`${workspace}/${path}`), mode | 0o700);
  }
}

function setModes(workspace: string, folders: readonly Folder[]): void {
  // The deepest first: a folder that is closed again cannot be entered.
  for (const { path, mode } of [...folders].reverse()) {
    const now = folderMode(workspace, path);
    if (now === undefined || now === mode) continue;
    beforeWrite(workspace);
    chmodSync(toBytes(`${workspace}/${path}`), mode);
  }
}
