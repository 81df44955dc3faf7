/** Sealed files in a workspace: put there exactly, and taken out again with a report of what was done to them. No link is
 *  followed, and nothing outside of the workspace is touched. */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  type Stats,
  statfsSync,
  symlinkSync,
} from 'node:fs';
import type { SealedFile } from '../core/records/manifest.ts';
import { largeFrom, writeWhole } from '../platform/files/bytes.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { ancestorsOf, below, toBytes } from '../platform/files/names.ts';
import { trouble } from '../platform/files/workspace-error.ts';
import { clearFolder, entriesBelow, removeEntry, setFolderMode } from '../workspace/clear.ts';
import { assertWorkspaceRoot } from '../workspace/roots.ts';
import { type FoundEntry, look, targetOf } from '../workspace/walk.ts';

/** What was put into a workspace. */
export type Placed = {
  /** Of each file, as it stood when it had been written. */
  readonly facts: ReadonlyMap<string, Stats>;
  /** Folders above the sealed paths that were not there, topmost first. */
  readonly made: readonly string[];
};

/** Puts the files where they belong; whatever is in their way is removed. Throws a WorkspaceError. */
export function placeSealed(
  workspace: string,
  paths: readonly string[],
  files: readonly SealedFile[],
): Placed {
  assertWorkspaceRoot(workspace);
  const made: string[] = [];
  const facts = new Map<string, Stats>();
  const locked = new Map<string, number>();
  for (const path of paths) {
    for (const folder of ancestorsOf(path)) {
      if (look(workspace, folder)?.kind === 'dir') open(workspace, folder, locked);
      else {
        clearFolder(workspace, folder);
        makeFolder(workspace, folder, 0o755);
        made.push(folder);
      }
    }
    clearFolder(workspace, path);
  }
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  for (const file of sorted) {
    beforeWrite(workspace);
    const place = below(workspace, file.path);
    try {
      if (file.kind === 'dir') makeFolder(workspace, file.path, 0o700);
      else if (file.kind === 'link') symlinkSync(file.content, place);
      else facts.set(file.path, writeNew(place, file));
    } catch (error) {
      throw trouble('write', file.path, error);
    }
  }
  for (const file of sorted.reverse())
    if (file.kind === 'dir') setFolderMode(workspace, file.path, file.mode);
  close(workspace, locked);
  return { facts, made };
}

function writeNew(place: string | Buffer, { content, mode }: SealedFile): Stats {
  const file = openSync(place, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  try {
    writeWhole(file, content);
    fchmodSync(file, mode);
    return fstatSync(file);
  } finally {
    closeSync(file);
  }
}

/** What was found where sealed files belong. */
export type RemovedHoldout = {
  /** Sealed files that were changed, replaced or removed, and new files at their paths; all removed. Sorted. */
  readonly broken: readonly string[];
  /** Folders above a sealed path in whose place something else is, which stays. */
  readonly blocked: readonly string[];
  /** Whether a sealed file has got a second name. */
  readonly linked: boolean;
  /** Sealed files that are unchanged but were touched meanwhile: their mode set, or content and times written and put back.
   *  Not known on file systems whose times do not show every change. Sorted. */
  readonly touched: readonly string[];
};

/** Takes everything at sealed paths out of the workspace. `placed` is what `placeSealed` has put there before; without it
 *  nothing should be there. `tolerates` answers true for new paths that are nobody's misdeed. Throws a WorkspaceError
 *  for what cannot be removed. */
export function takeOutSealed(
  workspace: string,
  paths: readonly string[],
  files: readonly SealedFile[],
  placed: Placed | undefined,
  tolerates: (path: string) => boolean,
): RemovedHoldout {
  const expected = new Map(placed === undefined ? [] : files.map((file) => [file.path, file]));
  const broken = new Set<string>();
  const blocked = new Set<string>();
  const touched: string[] = [];
  const locked = new Map<string, number>();
  let linked = false;
  // A stage may have taken the whole workspace away, or put a link in its place, which nobody follows.
  if (lstatSync(workspace, { throwIfNoEntry: false })?.isDirectory() === true) {
    open(workspace, '', locked);
    for (const path of paths) {
      const way = wayTo(workspace, path, locked);
      if (way !== undefined) {
        if (way.blockedBy !== undefined) blocked.add(way.blockedBy);
        continue;
      }
      const top = look(workspace, path);
      if (top === undefined) continue;
      const found = [top, ...entriesBelow(workspace, top)];
      const strange: FoundEntry[] = [];
      for (const one of found) {
        const file = expected.get(one.path);
        if (file === undefined) {
          if (!tolerates(one.path)) strange.push(one);
          continue;
        }
        expected.delete(one.path);
        if (one.kind === 'file' && one.stat.nlink > 1) linked = true;
        const facts = placed?.facts.get(one.path);
        if (!isAsPlaced(workspace, one, file, facts)) {
          if (!tolerates(one.path)) broken.add(one.path);
        } else if (facts !== undefined && facts.ctimeMs !== one.stat.ctimeMs) touched.push(one.path);
      }
      for (const path of withoutFull(strange)) broken.add(path);
      removeEntry(workspace, found);
    }
    for (const folder of [...(placed?.made ?? [])].reverse()) removeEmpty(workspace, folder);
    close(workspace, locked);
  }
  for (const path of expected.keys()) if (!tolerates(path)) broken.add(path);
  if (touched.length > 0 && !tellsTimes(workspace)) touched.length = 0;
  return { broken: [...broken].sort(), blocked: [...blocked].sort(), linked, touched: touched.sort() };
}

/** Undefined where the folders above a path are folders, opened on the way; else whether something else is in the place of
 *  one of them. */
function wayTo(
  workspace: string,
  path: string,
  locked: Map<string, number>,
): { readonly blockedBy: string | undefined } | undefined {
  for (const folder of ancestorsOf(path)) {
    const found = look(workspace, folder);
    if (found === undefined) return { blockedBy: undefined };
    if (found.kind !== 'dir') return { blockedBy: folder };
    open(workspace, folder, locked);
  }
  return undefined;
}

function isAsPlaced(
  workspace: string,
  found: FoundEntry,
  file: SealedFile,
  facts: Stats | undefined,
): boolean {
  if (found.kind !== file.kind) return false;
  if (found.kind === 'dir') return found.mode === file.mode;
  if (found.kind === 'link')
    return Buffer.from(toBytes(targetOf(workspace, found.path))).equals(file.content);
  if (found.mode !== file.mode || found.stat.nlink > 1) return false;
  const { ino, size, mtimeMs, ctimeMs } = found.stat;
  // A file that was rewritten with the same bytes may have had other content while it was used.
  if (facts?.ino !== ino || facts.mtimeMs !== mtimeMs || size !== file.content.length) return false;
  // What happens within one tick of the system's clock leaves no trace in the times.
  if (facts.ctimeMs === ctimeMs && size >= largeFrom) return true;
  try {
    return readFileSync(below(workspace, found.path)).equals(file.content);
  } catch {
    // What cannot be read any more has been changed.
    return false;
  }
}

/** Paths of what is new; a folder only where nothing new is in it. */
function withoutFull(strange: readonly FoundEntry[]): readonly string[] {
  const full = new Set(strange.flatMap(({ path }) => ancestorsOf(path)));
  return strange.filter(({ path, kind }) => kind !== 'dir' || !full.has(path)).map(({ path }) => path);
}

/** Makes a folder one that can be worked in; `locked` keeps how it was. */
function open(workspace: string, folder: string, locked: Map<string, number>): void {
  const place = below(workspace, folder);
  const mode = lstatSync(place).mode & 0o7777;
  if ((mode & 0o700) === 0o700) return;
  beforeWrite(workspace);
  if (!locked.has(folder)) locked.set(folder, mode);
  try {
    chmodSync(place, mode | 0o700);
  } catch (error) {
    throw trouble('open the folder', folder === '' ? workspace : folder, error);
  }
}

/** Sets the modes back, the deepest folder first. */
function close(workspace: string, locked: ReadonlyMap<string, number>): void {
  for (const folder of [...locked.keys()].sort().reverse()) {
    const mode = locked.get(folder);
    const is = lstatSync(below(workspace, folder), { throwIfNoEntry: false });
    if (mode !== undefined && is?.isDirectory() === true) setFolderMode(workspace, folder, mode);
  }
}

function makeFolder(workspace: string, folder: string, mode: number): void {
  beforeWrite(workspace);
  try {
    mkdirSync(below(workspace, folder), 0o700);
  } catch (error) {
    throw trouble('make the folder', folder, error);
  }
  // The umask does not apply.
  setFolderMode(workspace, folder, mode);
}

/** A folder that holds anything by now is a stage's. */
function removeEmpty(workspace: string, folder: string): void {
  if (look(workspace, folder)?.kind !== 'dir') return;
  beforeWrite(workspace);
  try {
    rmdirSync(below(workspace, folder));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw trouble('remove', folder, error);
  }
}

// Their times change with every change; of other file systems (network, FAT, FUSE) that is not known.
const honestTypes: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x01021994, // tmpfs
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xf2f52010, // F2FS
  0x2fc12fc1, // ZFS
  0x794c7630, // overlay
]);

/** Whether the times of the files there show every change. */
function tellsTimes(folder: string): boolean {
  try {
    return process.platform === 'linux' && honestTypes.has(statfsSync(folder).type);
  } catch {
    return false;
  }
}
