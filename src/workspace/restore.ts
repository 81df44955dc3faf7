/** Makes a workspace equal to a snapshot, touching only what differs. */

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import type { ContentStore } from '../contents/store.ts';
import { realClock } from '../platform/clock.ts';
import { hashFile, largeFrom } from '../platform/files/bytes.ts';
import { named } from '../platform/files/disk-error.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { below, fromBytes, liesBelow, orUndefined, parentOf, toBytes } from '../platform/files/names.ts';
import { withoutSetId } from '../platform/files/set-id.ts';
import { codeOf, isTooLong, trouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import { assertWorkspaceRoot } from './roots.ts';
import type { Entry, PathFilter, Snapshot, Snapshots, Tree } from './snapshot.ts';
import {
  type FileFacts,
  type FoundEntry,
  isUntouched,
  look,
  nothingMounted,
  secondsOf,
  targetOf,
  walk,
} from './walk.ts';

export type Restore = {
  readonly workspace: string;
  readonly to: Tree;
  /** Trees whose stat facts may identify a file's content without reading it. */
  readonly known: readonly Tree[];
  readonly store: ContentStore;
  /** Limits the restore to some paths. */
  readonly only: PathFilter | undefined;
  /** Files that are written get the present as their time, not the one that the tree has. */
  readonly isTimeNow?: boolean;
  /** A new folder, which may be on another kind of disk. */
  readonly isNew?: true;
  /** By a node itself, to which the sandbox shows its workspace by mounts. */
  readonly inStage?: boolean | undefined;
};

/** Puts content, mode, links and existence back, and the time of files that are written. Nothing outside the workspace is
 *  touched: no link is followed, where something is mounted nothing is done, and a file with another hard link is replaced
 *  rather than changed. A file is the old one or the new one at any moment; a restore that was interrupted is finished by
 *  another. */
export async function restoreTree(r: Restore): Promise<void> {
  beforeWrite(r.workspace);
  if (r.inStage !== true) nothingMounted(r.workspace);
  assertWorkspaceRoot(r.workspace);
  const work = new Work(r);
  await work.compare();
  work.remove();
  work.makeFolders();
  await work.write();
  work.finishFolders();
}

/** `facts`: mode or time alone. */
type Difference = 'none' | 'facts' | 'all';

/** What is to be done: found by comparing once, done in an order that an interruption cannot spoil. */
class Work {
  private readonly present = new Map<string, FoundEntry>();
  private readonly removals: string[] = [];
  private readonly folders: string[] = [];
  private readonly writes: { readonly path: string; readonly entry: Entry; readonly factsOnly: boolean }[] =
    [];
  /** Folders that were made accessible or have another mode than they shall have, with the mode they shall have. */
  private readonly modes = new Map<string, number>();
  /** Folders that were found to be real ones a moment ago. */
  private readonly realFolders = new Set<string>();
  private looks = 0;

  constructor(private readonly r: Restore) {}

  private chosen(path: string): boolean {
    return this.r.only?.(path) ?? true;
  }

  async compare(): Promise<void> {
    this.lookAround();
    const needed = await this.findWrites();
    this.findRemovals(needed);
    this.findFolders(needed);
  }

  /** Returns the folders that something needs: what is in their place is removed and they are made, chosen or not. */
  private async findWrites(): Promise<ReadonlySet<string>> {
    const needed = new Set<string>();
    for (const [path, entry] of this.r.to) {
      if (!this.chosen(path)) continue;
      const difference = await this.difference(path, entry, this.present.get(path));
      if (difference === 'none') continue;
      for (let folder = parentOf(path); folder !== '' && !needed.has(folder); folder = parentOf(folder))
        needed.add(folder);
      if (entry.kind === 'dir') needed.add(path);
      else this.writes.push({ path, entry, factsOnly: difference === 'facts' });
    }
    return needed;
  }

  private findRemovals(needed: ReadonlySet<string>): void {
    // A folder goes with everything in it where a file or a link takes its place.
    const doomed = new Set<string>();
    for (const [path, found] of this.present) {
      const entry = this.r.to.get(path);
      const inDoomed = doomed.has(parentOf(path));
      const inTheWay =
        entry === undefined
          ? this.chosen(path)
          : found.kind === 'special' || (entry.kind === 'dir') !== (found.kind === 'dir');
      const goes = inDoomed || (inTheWay && (this.chosen(path) || needed.has(path)));
      if (goes) this.removals.push(path);
      if (found.kind === 'dir' && (inDoomed || (goes && entry !== undefined))) doomed.add(path);
    }
  }

  private findFolders(needed: ReadonlySet<string>): void {
    for (const [path, entry] of this.r.to) {
      if (entry.kind !== 'dir') continue;
      const found = this.present.get(path);
      const isMissing = needed.has(path) && found?.kind !== 'dir';
      if (isMissing) this.folders.push(path);
      const hasOtherMode = found?.kind === 'dir' && this.chosen(path) && found.mode !== entry.mode;
      if (isMissing || hasOtherMode) this.modes.set(path, entry.mode);
    }
    // What an unlocking walk has opened is set right at the end, too.
    for (const [path, { kind, mode }] of this.present)
      if (kind === 'dir' && (mode & 0o500) !== 0o500 && !this.modes.has(path)) this.modes.set(path, mode);
  }

  /** Lists the workspace. A tree that is deeper than the system's paths reach is taken apart: the deepest folder that can be
   *  named goes to the top, and is removed from there. */
  private lookAround(): void {
    const { workspace, only } = this.r;
    for (;;) {
      this.present.clear();
      try {
        for (const found of walk(workspace, { unlock: true })) this.present.set(found.path, found);
        return;
      } catch (error) {
        const folders = [...this.present.values()].filter(({ kind }) => kind === 'dir');
        const deepest = folders.reduce((a, { path }) => (path.length > a.length ? path : a), '');
        if (only !== undefined || !isTooLong(error) || parentOf(deepest) === '') throw error;
        this.removing(deepest, () => {
          this.open(parentOf(deepest));
          renameSync(below(workspace, deepest), below(workspace, temporaryName()));
        });
        this.realFolders.clear();
      }
    }
  }

  private async difference(path: string, entry: Entry, found: FoundEntry | undefined): Promise<Difference> {
    if (found === undefined || found.kind !== entry.kind) return 'all';
    if (entry.kind === 'dir') return found.mode === entry.mode ? 'none' : 'facts';
    if (entry.kind === 'link') return targetOf(this.r.workspace, path) === entry.target ? 'none' : 'all';
    if (!(this.sameByFacts(path, entry, found.stat) ?? (await this.hasContent(path, entry)))) return 'all';
    const hasTime = this.r.isTimeNow === true || isSameTime(entry, found.stat);
    if (found.mode === withoutSetId(entry.mode) && hasTime) return 'none';
    // Another hard link may be elsewhere: what is set here would be set there.
    return found.stat.nlink > 1 ? 'all' : 'facts';
  }

  private sameByFacts(path: string, entry: Entry, stat: FileFacts): boolean | undefined {
    if (entry.size !== stat.size) return false;
    for (const tree of this.r.known) {
      const known = tree.get(path);
      if (known !== undefined && isUntouched(stat, known)) return known.hash === entry.hash;
    }
    return undefined;
  }

  private async hasContent(path: string, entry: Entry): Promise<boolean> {
    try {
      return (await hashFile(below(this.r.workspace, path))).hash === entry.hash;
    } catch {
      // A file that cannot be read is replaced.
      return false;
    }
  }

  /** Contents before their folders, then folders that nothing is left in. */
  remove(): void {
    const emptied = new Set<string>();
    for (const path of this.removals.reverse()) {
      this.removing(path, () => {
        this.open(parentOf(path));
        if (this.present.get(path)?.kind === 'dir') this.removeFolder(path);
        else unlinkSync(below(this.r.workspace, path));
      });
      for (let folder = parentOf(path); folder !== '' && !emptied.has(folder); folder = parentOf(folder))
        emptied.add(folder);
    }
    for (const folder of [...emptied].sort().reverse()) {
      if (this.r.to.get(folder)?.kind === 'dir' || look(this.r.workspace, folder)?.kind !== 'dir') continue;
      this.removing(folder, () => {
        this.open(parentOf(folder));
        this.removeFolder(folder);
      });
    }
  }

  /** Removes a folder when nothing but sockets, pipes and devices is left in it. */
  private removeFolder(path: string): void {
    this.open(path);
    const place = below(this.r.workspace, path);
    const left = readdirSync(place, 'buffer').map((name) => `${path}/${fromBytes(name)}`);
    if (left.some((one) => look(this.r.workspace, one)?.kind !== 'special')) return;
    for (const one of left) unlinkSync(below(this.r.workspace, one));
    rmdirSync(place);
    this.modes.delete(path);
    this.realFolders.delete(path);
  }

  makeFolders(): void {
    for (const path of this.folders)
      this.acting('make the folder', path, () => {
        this.open(parentOf(path));
        mkdirSync(below(this.r.workspace, path), 0o700);
      });
  }

  async write(): Promise<void> {
    for (const { path, entry, factsOnly } of this.writes) {
      const place = below(this.r.workspace, path);
      this.acting('write into the folder', parentOf(path), () => this.open(parentOf(path)));
      if (factsOnly && this.acting('set the mode of', path, () => setMode(place, withoutSetId(entry.mode))))
        this.setTime(place, entry);
      else await this.replace(path, place, entry);
    }
  }

  private async replace(path: string, place: string | Buffer, entry: Entry): Promise<void> {
    const temporary = this.temporaryFor(path);
    try {
      const was = lstatSync(place, orUndefined);
      // Two names of the tree are one to this file system: one of them would be lost silently.
      if (was !== undefined && this.r.isNew) throw Object.assign(new Error(), { code: 'EEXIST' });
      if (this.r.isTimeNow && was?.size === entry.size) await secondAfter(was?.mtimeMs);
      if (entry.kind === 'link') symlinkSync(toBytes(entry.target ?? ''), temporary);
      else {
        await this.r.store.writeTo(entry.hash ?? '', temporary, withoutSetId(entry.mode));
        // That may have taken long.
        if ((entry.size ?? 0) > largeFrom) this.realFolders.clear();
        this.setTime(temporary, entry);
      }
      beforeWrite(this.r.workspace);
      renameSync(temporary, place);
    } catch (error) {
      removeIfThere(temporary);
      throw trouble('put back', path, named(String(place), error));
    }
  }

  /** Where a file is written before it takes its place: in the same folder, since a sandbox may have mounted that one, or at
   *  the top where the path is too long for it. */
  private temporaryFor(path: string): string | Buffer {
    const { workspace } = this.r;
    const isLong = Buffer.byteLength(below(workspace, path)) >= longFrom;
    const folder = isLong ? '' : parentOf(path);
    return below(workspace, folder === '' ? temporaryName() : `${folder}/${temporaryName()}`);
  }

  private setTime(place: string | Buffer, { mtimeMs }: Entry): void {
    if (mtimeMs === undefined || this.r.isTimeNow) return;
    try {
      lutimesSync(place, secondsOf(mtimeMs), secondsOf(mtimeMs));
    } catch {
      // The file is another user's, or the disk keeps no such time: content and mode are right.
    }
  }

  /** Sets modes when nothing more changes in the folders. Deepest first: a folder that loses its search bit hides what is in
   *  it. */
  finishFolders(): void {
    this.realFolders.clear();
    for (const [path, mode] of [...this.modes].sort(([a], [b]) => (a < b ? 1 : -1))) {
      if (look(this.r.workspace, path)?.kind !== 'dir') continue;
      this.acting('set the mode of', path, () => {
        this.checkReal(path);
        chmodSync(below(this.r.workspace, path), mode);
      });
    }
  }

  /** Makes a folder one that can be written in, after making sure that it and all above it are real folders. */
  private open(path: string): void {
    for (const folder of this.checkReal(path)) {
      const place = below(this.r.workspace, folder);
      const mode = lstatSync(place).mode & 0o7777;
      if ((mode & 0o700) === 0o700) continue;
      chmodSync(place, 0o700);
      if (!this.modes.has(folder)) this.modes.set(folder, mode);
    }
  }

  /** Throws where a folder, or one above it, is a link or gone. Returns those that had to be looked at, topmost first. */
  private checkReal(path: string): readonly string[] {
    // A process that has escaped may still replace a folder by a link: a look counts for a few operations only.
    if (++this.looks % mostLooks === 0) this.realFolders.clear();
    const unknown: string[] = [];
    for (let at = path; at !== '' && !this.realFolders.has(at); at = parentOf(at)) unknown.push(at);
    for (const folder of unknown.reverse()) {
      if (!lstatSync(below(this.r.workspace, folder)).isDirectory())
        throw new WorkspaceError(`"${folder}" stopped being a folder while the workspace was restored`);
      this.realFolders.add(folder);
    }
    return unknown;
  }

  private acting<T>(doing: string, path: string, act: () => T): T {
    try {
      beforeWrite(this.r.workspace);
      return act();
    } catch (error) {
      throw trouble(doing, path, error);
    }
  }

  /** What has gone already needs no removal. */
  private removing(path: string, act: () => void): void {
    this.acting('remove', path, () => {
      try {
        act();
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
      }
    });
  }
}

/** A look at a folder counts for so many others at most. */
const mostLooks = 64;

/** Longer paths may have no room for a temporary name: the system's limit is 4096 bytes, elsewhere 1024. */
const longFrom = 900;

/** A name in no tree: what a killed process has left under it, the next restore of all removes. */
const temporaryName = (): string => `.factory-restore.${randomBytes(8).toString('hex')}.tmp`;

/** For a clean-up after another error, which says more than one of this would. */
function removeIfThere(place: string | Buffer): void {
  try {
    rmSync(place, { force: true });
  } catch {}
}

/** Setting a time loses less than a microsecond. */
const isSameTime = ({ mtimeMs }: Entry, stat: FileFacts): boolean =>
  mtimeMs === undefined || Math.abs(mtimeMs - stat.mtimeMs) < 0.01;

/** Sets a file's mode. False, and nothing done, where something else is there by now, or a file with another hard link,
 *  which may be anywhere. */
function setMode(place: string | Buffer, mode: number): boolean {
  const stat = lstatSync(place, orUndefined);
  if (stat?.isFile() !== true || stat.nlink > 1) return false;
  // Another user's file may have the right one.
  if ((stat.mode & 0o7777) !== mode) chmodSync(place, mode);
  return true;
}

/** Settles when a file that is written gets another time in whole seconds: by size and second Python recognizes what it has
 *  compiled, and rsync what it has copied. */
async function secondAfter(mtimeMs = 0): Promise<void> {
  const left = (Math.floor(mtimeMs / 1e3) + 1) * 1e3 - realClock.now().getTime();
  // The time that a file gets is behind the clock by less than 10 ms.
  if (left > 0 && left <= 1e3) await realClock.sleep(left + 10);
}

/* Undoes what a node did where it may not. */

/** Puts the paths of a guardrail violation back exactly as they were in `before`; every other change stays. Folders that were
 *  made for them are removed too, with what else is in them and not `allowed`. `allowed` is asked with the path, for a folder also
 *  with a slash at its end. The files that are put back count as written now: an allowed product may have been made of what they
 *  replace, and is out of date. */
export async function putBack(
  snapshots: Snapshots,
  before: Snapshot,
  offending: readonly string[],
  allowed: PathFilter,
): Promise<void> {
  const paths = new Set(offending);
  const isNew = (folder: string): boolean => folder !== '' && before.tree.get(folder)?.kind !== 'dir';
  const newFolders = new Set<string>();
  for (const path of offending) {
    if (before.tree.get(path)?.kind !== 'dir') newFolders.add(path);
    for (let folder = parentOf(path); isNew(folder); folder = parentOf(folder)) newFolders.add(folder);
  }
  const isInNew = liesBelow(newFolders);
  await snapshots.restore(
    before,
    (path) => paths.has(path) || (isInNew(path) && !allowed(path) && !allowed(`${path}/`)),
    { times: 'now' },
  );
}
