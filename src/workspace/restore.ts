/** Makes a workspace equal to a snapshot, touching only what differs. */
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import { named } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { hashFile } from './content.ts';
import { isSameTime, secondAfter, setMode, setTime } from './facts.ts';
import { nothingMounted } from './mounts.ts';
import { below, fromBytes, parentOf, toBytes } from './names.ts';
import { neighbourName, neighbourOf, removeIfThere } from './neighbour.ts';
import type { Entry, Tree } from './snapshot.ts';
import { standing } from './standing.ts';
import type { Store } from './store.ts';
import { codeOf, isTooLong, trouble } from './trouble.ts';
import { Twins } from './twins.ts';
import {
  type Facts,
  type Found,
  factsOf,
  inodeIn,
  isUntouched,
  look,
  orUndefined,
  targetOf,
  walk,
} from './walk.ts';
import { clearOther, Way } from './way.ts';

export type Restore = {
  readonly workspace: string;
  readonly to: Tree;
  /** Trees whose stat facts may tell a file's content without reading it. */
  readonly known: readonly Tree[];
  readonly store: Store;
  /** Limits the restore to paths it answers true for; everything without it. */
  readonly only: ((path: string) => boolean) | undefined;
  /** Of which paths a file that is written carries the time of the restore. All else has the time that the tree knows of. */
  readonly anew?: ((path: string) => boolean) | undefined;
  /** An empty folder that somebody has named: it may be a disk of its own, and of another kind. */
  readonly isNamed?: true;
  /** By a stage itself, to which the sandbox shows its workspace by mounts; any other has ended the stage that made it. */
  readonly inStage?: boolean | undefined;
};

/** Puts content, mode, links and existence back. Nothing outside the workspace is touched: no link is followed, where
 *  something is mounted nothing is done, and a file with a second name is replaced rather than changed. What is written of a
 *  file that had several names becomes a name of it again, but for a folder that somebody has named. A file is the old one
 *  or the new one at any moment; a restore that was cut off is finished by another. Files and folders have the
 *  time that they had, so that a build tool finds stale what was stale then; or with `anew` the time of the restore, so that it
 *  sees what was made of a stage's undone work. */
export async function restoreTree(r: Restore): Promise<void> {
  beforeWrite(r.workspace);
  if (r.inStage !== true) nothingMounted(r.workspace, r.isNamed && 'mounted');
  standing(r.workspace);
  const work = new Work(r);
  await work.compare();
  work.remove();
  work.makeFolders();
  await work.write();
  work.finishFolders();
}

/** `facts`: mode or time alone. */
type Difference = 'none' | 'facts' | 'all';

type Whole = Omit<Found, 'stat'> & { readonly stat: Facts };

/** What is there. Of a file that the facts alone tell the difference of, nothing more need be known. */
type Present = Whole | { readonly kind: 'file'; readonly differs: Difference };

// One for all files: there may be many.
const decided: Readonly<Record<Difference, Present>> = {
  none: { kind: 'file', differs: 'none' },
  facts: { kind: 'file', differs: 'facts' },
  all: { kind: 'file', differs: 'all' },
};

const isWhole = (found: Present | undefined): found is Whole => found !== undefined && 'stat' in found;

/** A folder's. */
const modeOf = (found: Present | undefined): number | undefined =>
  found?.kind === 'dir' ? found.mode : undefined;

/** What is to be done, found by comparing once, done in an order that a cut cannot spoil. */
class Work {
  private readonly present = new Map<string, Present>();
  private readonly removals: string[] = [];
  private readonly folders: string[] = [];
  private readonly writes: { readonly path: string; readonly entry: Entry; readonly factsOnly: boolean }[] =
    [];
  /** Folders that were made accessible or have another mode than they shall have, with the mode they shall have. */
  private readonly modes = new Map<string, number>();
  private readonly way: Way;
  private readonly twins: Twins;
  /** Of files with several names, how many of them are here and ours to keep or to take away. */
  private readonly names = new Map<number, number>();

  constructor(private readonly r: Restore) {
    this.twins = new Twins(r.isNamed ? new Map() : r.to);
    this.way = new Way(r.workspace, this.modes);
  }

  private chosen(path: string): boolean {
    return this.r.only?.(path) ?? true;
  }

  async compare(): Promise<void> {
    this.lookAround();
    const needed = await this.findWrites();
    this.findRemovals(needed);
    this.findFolders(needed);
  }

  /** Answers with the folders that something needs: their own way is cleared and they are made, chosen or not. */
  private async findWrites(): Promise<ReadonlySet<string>> {
    const needed = new Set<string>();
    const write = (path: string, entry: Entry, difference: Difference): void => {
      for (let folder = parentOf(path); folder !== '' && !needed.has(folder); folder = parentOf(folder))
        needed.add(folder);
      if (entry.kind === 'dir') needed.add(path);
      else this.writes.push({ path, entry, factsOnly: difference === 'facts' });
    };
    const standing: Parameters<Twins['stand']>[0][number][] = [];
    for (const [path, entry] of this.r.to) {
      const isTwin = this.twins.has(entry);
      const isChosen = this.chosen(path);
      if (!isChosen && !isTwin) continue;
      const found = this.present.get(path);
      const difference = await this.difference(path, entry, found);
      if (difference !== 'none') {
        if (isChosen) write(path, entry, difference);
      } else if (entry.kind === 'file' && isWhole(found)) standing.push({ path, entry, stat: found.stat });
    }
    for (const { path, entry } of this.twins.stand(standing, this.names, (path) => this.chosen(path)))
      write(path, entry, 'all');
    return needed;
  }

  private findRemovals(needed: ReadonlySet<string>): void {
    // A folder goes with everything in it where a file or a link takes its place.
    const doomed = new Set<string>();
    for (const [path, found] of this.present) {
      const wanted = this.r.to.get(path);
      const inDoomed = doomed.has(parentOf(path));
      const inTheWay =
        wanted === undefined
          ? this.chosen(path)
          : found.kind === 'special' || (wanted.kind === 'dir') !== (found.kind === 'dir');
      const goes = inDoomed || (inTheWay && (this.chosen(path) || needed.has(path)));
      if (goes) this.removals.push(path);
      if (found.kind === 'dir' && (inDoomed || (goes && wanted !== undefined))) doomed.add(path);
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
    for (const [path, found] of this.present) {
      const mode = modeOf(found);
      if (mode !== undefined && (mode & 0o500) !== 0o500 && !this.modes.has(path)) this.modes.set(path, mode);
    }
  }

  /** Finds what is there. A tree that was made deeper than the system's paths reach is taken apart: what holds the
   *  part that cannot be named goes to the top under a neighbour's name, and from there away. */
  private lookAround(): void {
    const { workspace, only } = this.r;
    for (;;) {
      this.present.clear();
      this.names.clear();
      try {
        const dev = lstatSync(workspace).dev;
        for (const one of walk(workspace, { unlock: true })) {
          const found = { ...one, stat: { ...factsOf(one.stat), ino: inodeIn(dev, one.stat) } };
          this.present.set(found.path, this.decide(found) ?? found);
          this.count(found);
        }
        return;
      } catch (error) {
        const deepest = [...this.present].filter(([, found]) => found.kind === 'dir');
        const folder = deepest.reduce((a, [path]) => (path.length > a.length ? path : a), '');
        if (only !== undefined || !isTooLong(error) || parentOf(folder) === '') throw error;
        this.removing(folder, () => {
          this.way.open(parentOf(folder));
          renameSync(below(workspace, folder), below(workspace, neighbourName()));
        });
        this.way.forgetAll();
      }
    }
  }

  private count({ path, kind, stat: { ino, nlink } }: Whole): void {
    const isOurs = nlink > 1 && (this.chosen(path) || this.twins.has(this.r.to.get(path)));
    if (isOurs && kind === 'file') this.names.set(ino, (this.names.get(ino) ?? 0) + 1);
  }

  /** Undefined where only a look at the content can tell. */
  private decide({ path, kind, mode, stat }: Whole): Present | undefined {
    if (kind !== 'file') return undefined;
    const entry = this.r.to.get(path);
    // Which file it is counts as well.
    if (entry?.kind === 'file' && (stat.nlink > 1 || this.twins.has(entry))) return undefined;
    if (entry?.kind !== 'file' || !this.chosen(path)) return decided.all;
    const same = this.sameByFacts(path, entry, stat);
    if (same === undefined) return undefined;
    if (!same) return decided.all;
    return decided[mode === entry.mode && this.hasTime(path, entry, stat) ? 'none' : 'facts'];
  }

  private async difference(path: string, entry: Entry, found: Present | undefined): Promise<Difference> {
    if (found === undefined || found.kind !== entry.kind) return 'all';
    if ('differs' in found) return found.differs;
    if (entry.kind === 'dir') return found.mode === entry.mode ? 'none' : 'facts';
    if (entry.kind === 'link') return targetOf(this.r.workspace, path) === entry.target ? 'none' : 'all';
    if (!(this.sameByFacts(path, entry, found.stat) ?? (await this.hasContent(path, entry)))) return 'all';
    // A second name may lie elsewhere: a mode set here would be set there. One that is missing is made of what is written.
    const { stat } = found;
    const hasTime = this.hasTime(path, entry, stat);
    if (stat.nlink > 1 || this.twins.has(entry)) {
      const isElsewhere = stat.nlink > 1 && this.names.get(stat.ino) !== stat.nlink;
      return found.mode === entry.mode && (hasTime || isElsewhere) ? 'none' : 'all';
    }
    return found.mode === entry.mode && hasTime ? 'none' : 'facts';
  }

  private hasTime(path: string, { mtimeMs }: Entry, stat: Facts): boolean {
    return mtimeMs === undefined || isSameTime(mtimeMs, stat.mtimeMs) || this.isAnew(path);
  }

  private sameByFacts(path: string, entry: Entry, stat: Facts): boolean | undefined {
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
      // What cannot be read is written anew.
      return false;
    }
  }

  /** Contents before their folders, then folders that nothing is left in. */
  remove(): void {
    const emptied = new Set<string>();
    for (const path of this.removals.reverse()) {
      this.removing(path, () => {
        this.way.open(parentOf(path));
        if (this.present.get(path)?.kind === 'dir') this.removeFolder(path);
        else unlinkSync(below(this.r.workspace, path));
      });
      for (let folder = parentOf(path); folder !== '' && !emptied.has(folder); folder = parentOf(folder))
        emptied.add(folder);
    }
    for (const folder of [...emptied].sort().reverse()) {
      if (this.r.to.get(folder)?.kind === 'dir' || look(this.r.workspace, folder)?.kind !== 'dir') continue;
      this.removing(folder, () => {
        this.way.open(parentOf(folder));
        this.removeFolder(folder);
      });
    }
  }

  /** Removes a folder when nothing but sockets, pipes and devices is left in it. */
  private removeFolder(path: string): void {
    this.way.open(path);
    const place = below(this.r.workspace, path);
    const left = readdirSync(place, 'buffer').map((name) => `${path}/${fromBytes(name)}`);
    if (left.some((one) => look(this.r.workspace, one)?.kind !== 'special')) return;
    for (const one of left) unlinkSync(below(this.r.workspace, one));
    rmdirSync(place);
    this.way.forget(path);
  }

  makeFolders(): void {
    for (const path of this.folders)
      this.acting('make the folder', path, () => {
        this.way.open(parentOf(path));
        if (!this.r.isNamed) clearOther(this.r.workspace, path, this.present, this.r.to);
        mkdirSync(below(this.r.workspace, path), 0o700);
      });
  }

  async write(): Promise<void> {
    for (const { path, entry, factsOnly } of this.writes) {
      const folder = parentOf(path);
      const place = below(this.r.workspace, path);
      this.acting('write into the folder', folder, () => this.way.open(folder));
      if (factsOnly && this.acting('set the mode of', path, () => setMode(place, entry.mode))) {
        this.setTime(path, place, entry);
        continue;
      }
      const neighbour = neighbourOf(this.r.workspace, path);
      try {
        const was = lstatSync(place, orUndefined);
        if (was?.size === entry.size && this.isAnew(path)) await secondAfter(was?.mtimeMs);
        // Where case does not count, one of two names would be lost without a word.
        if (was !== undefined && this.r.isNamed) throw Object.assign(new Error(), { code: 'EEXIST' });
        if (entry.kind === 'link') symlinkSync(toBytes(entry.target ?? ''), neighbour);
        else if (!this.linked(entry, neighbour)) {
          await this.r.store.writeTo(entry.hash ?? '', neighbour, entry.mode);
          this.setTime(path, neighbour, entry);
        }
        if (was !== undefined) clearOther(this.r.workspace, path, this.present, this.r.to);
        beforeWrite(this.r.workspace);
        renameSync(neighbour, place);
        this.twins.wrote(path, entry);
      } catch (error) {
        removeIfThere(neighbour);
        throw trouble('put back', path, named(String(place), error));
      }
    }
  }

  private isAnew(path: string): boolean {
    return this.r.anew?.(path) ?? false;
  }

  private setTime(path: string, place: string | Buffer, { mtimeMs, ctimeMs }: Entry): void {
    if (mtimeMs !== undefined && !this.isAnew(path)) setTime(place, mtimeMs, ctimeMs);
  }

  /** Makes a name of a file that the tree has another name of. False where there is none, or it takes no more names. */
  private linked(entry: Entry, name: string | Buffer): boolean {
    const twin = this.twins.of(entry);
    if (twin === undefined) return false;
    try {
      this.way.open(parentOf(twin));
      linkSync(below(this.r.workspace, twin), name);
      return true;
    } catch {
      return false;
    }
  }

  /** Sets modes and times when nothing more changes in them. Deepest first: a folder that loses its search bit hides what
   *  is in it. */
  finishFolders(): void {
    const paths = new Set(this.modes.keys());
    for (const [path, { kind }] of this.r.to) if (kind === 'dir' && this.chosen(path)) paths.add(path);
    // What is opened now stays open.
    const way = new Way(this.r.workspace);
    const set = (what: 'time' | 'mode', path: string, act: () => void) =>
      this.acting(`set the ${what} of`, path, () => {
        way.open(path);
        act();
      });
    for (const path of [...paths].sort().reverse()) {
      const found = look(this.r.workspace, path);
      if (found?.kind !== 'dir') continue;
      const place = below(this.r.workspace, path);
      const entry = this.r.to.get(path);
      const mode = this.modes.get(path) ?? found.mode;
      if (entry?.kind === 'dir' && this.chosen(path) && !this.hasTime(path, entry, found.stat))
        set('time', path, () => this.setTime(path, place, entry));
      if (mode !== found.mode) set('mode', path, () => chmodSync(place, mode));
    }
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
