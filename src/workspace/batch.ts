/** Contents on their way into the store: named only after they are on the disk. */
import { closeSync, fdatasync, fstatSync, lstatSync, readdirSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../model/sha256.ts';
import { named } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, makeFolder, neighbourOf, syncFolder } from '../system/files.ts';
import { hashFile, pour, readSmall, writeAt } from './content.ts';
import { Places } from './places.ts';

/** What a batch needs of the store. */
export type Into = {
  /** The store's folder, and the one in it for large contents. */
  readonly dir: string;
  readonly largeDir: string;
  has(hash: string): boolean;
  /** `isNew` until its name is flushed. */
  openPack(): { readonly name: string; readonly file: number; readonly isNew: boolean };
  /** Called when the pack is flushed, and its name. */
  keep(places: Places): void;
  keepLarge(hash: string): void;
  /** False where somebody else flushes packs and their names, before anybody knows of them. */
  readonly sync: boolean;
  /** Whether the names of all large contents that are there are known to be on the disk. */
  readonly largeNames: { flushed: boolean };
  /** Whether what interrupted takes have left among the large contents is gone. */
  readonly leftovers: { swept: boolean };
};

export type Kept = { readonly hash: string; readonly size: number };

const chunkSize = 2 * 1024 * 1024;

export class Batch {
  private readonly added = new Places();
  private pack: ReturnType<Into['openPack']> | undefined;
  /** What is not yet written, and where in the pack it belongs. */
  private chunk = Buffer.alloc(0);
  private filled = 0;
  private end = 0;
  /** Sizes of the large contents that are there; looked up when the first large file comes. */
  private sizes: Set<number> | undefined;

  constructor(private readonly into: Into) {}

  /** Adds the content of a regular file; the answer describes the bytes that were stored. A link is not followed. What
   *  `goOn` throws ends the reading of a large one. */
  async addFile(path: string | Buffer, expected?: number, goOn?: () => void): Promise<Kept> {
    const bytes = readSmall(path, expected);
    return bytes === undefined ? this.addLarge(path, goOn) : this.addBytes(bytes);
  }

  /** Adds a content that is not large; `hash` is its SHA-256 (hex). */
  addBytes(bytes: Buffer, hash = sha256(bytes)): Kept {
    const size = bytes.length;
    if (!this.into.has(hash) && !this.added.has(hash)) {
      this.pack ??= this.begin();
      if (this.filled + size > this.chunk.length) this.flush();
      if (this.chunk.length === 0) this.chunk = Buffer.allocUnsafeSlow(chunkSize);
      bytes.copy(this.chunk, this.filled);
      this.added.add(hash, { pack: this.pack.name, offset: this.end + this.filled, size });
      this.filled += size;
    }
    return { hash, size };
  }

  /** Everything added is on disk and in the store when this settles. True where the names in the store's folder were
   *  flushed as well. */
  async commit(): Promise<boolean> {
    if (this.pack === undefined) return false;
    this.flush();
    if (!this.into.sync) {
      this.into.keep(this.added);
      return false;
    }
    await flushed(this.pack.file);
    if (this.pack.isNew) await syncFolder(this.into.dir);
    this.into.keep(this.added);
    return this.pack.isNew;
  }

  /** To be called in any case, once. */
  close(): void {
    if (this.pack !== undefined) closeSync(this.pack.file);
  }

  private begin(): ReturnType<Into['openPack']> {
    const pack = this.into.openPack();
    // What an earlier take has left there without a name stays as it is.
    this.end = fstatSync(pack.file).size;
    return pack;
  }

  private flush(): void {
    if (this.pack === undefined || this.filled === 0) return;
    beforeWrite(this.into.dir);
    try {
      writeAt(this.pack.file, this.chunk.subarray(0, this.filled), this.end);
    } catch (error) {
      throw named(join(this.into.dir, this.pack.name), error);
    }
    this.end += this.filled;
    this.filled = 0;
  }

  /** Copied first, then named by the hash of the copy: the file may change while it is read. */
  private async addLarge(path: string | Buffer, goOn: (() => void) | undefined): Promise<Kept> {
    const { largeDir } = this.into;
    const known = await this.knownLarge(path, goOn);
    if (known !== undefined) {
      await this.flushLargeNames();
      return known;
    }
    beforeWrite(largeDir);
    makeFolder(largeDir);
    const neighbour = neighbourOf(join(largeDir, 'content'));
    try {
      const stored = await pour(path, neighbour, { mode: 0o600, sync: true, goOn });
      const { leftovers } = this.into;
      if (!leftovers.swept) await sweep(largeDir, neighbour);
      leftovers.swept = true;
      // One that became short while it was read may lie in a pack already, and then has no name here.
      const isNew = !this.into.has(stored.hash);
      if (isNew) {
        beforeWrite(largeDir);
        renameSync(neighbour, join(largeDir, stored.hash));
        const { largeNames } = this.into;
        if (largeNames.flushed) {
          largeNames.flushed = false;
          await syncFolder(largeDir);
          largeNames.flushed = true;
        }
      }
      await this.flushLargeNames();
      if (isNew) this.into.keepLarge(stored.hash);
      this.sizes?.add(stored.size);
      return stored;
    } catch (error) {
      // Only what is written can fail so, and the error of an open file names none.
      throw isCode(error, 'ENOSPC', 'EDQUOT') ? named(neighbour, error) : error;
    } finally {
      await rm(neighbour, { force: true });
    }
  }

  /** Also of those that were there before: whoever put them there may have been killed, or have failed, before this. */
  private async flushLargeNames(): Promise<void> {
    if (this.into.largeNames.flushed) return;
    await syncFolder(this.into.largeDir);
    await syncFolder(this.into.dir);
    this.into.largeNames.flushed = true;
  }

  /** A large file whose size the store knows is read before anything is written: it was probably only touched. */
  private async knownLarge(path: string | Buffer, goOn: (() => void) | undefined): Promise<Kept | undefined> {
    this.sizes ??= sizesIn(this.into.largeDir);
    if (!this.sizes.has(lstatSync(path).size)) return undefined;
    const found = await hashFile(path, goOn);
    return this.into.has(found.hash) ? found : undefined;
  }
}

const flushed = promisify(fdatasync);
const dayMs = 24 * 60 * 60 * 1000;

/** Removes the neighbours that interrupted takes have left: those that are a day older than `ours`, by the file system's
 *  own time. Younger ones may be another process's. */
async function sweep(folder: string, ours: string): Promise<void> {
  const now = lstatSync(ours).mtimeMs;
  for (const name of namesOf(folder)) {
    if (!name.endsWith('.tmp')) continue;
    const stat = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs < now - dayMs) await rm(join(folder, name), { force: true });
  }
}

const namesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

function sizesIn(folder: string): Set<number> {
  const sizes = new Set<number>();
  for (const name of namesOf(folder)) {
    const size = lstatSync(join(folder, name), { throwIfNoEntry: false })?.size;
    if (size !== undefined) sizes.add(size);
  }
  return sizes;
}
