/** Contents on their way into the store: named only after they are on the disk. */
import { closeSync, fdatasync, fstatSync, lstatSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256 } from '../model/sha256.ts';
import { named } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, makeFolder, neighbourOf, syncFolder } from '../system/files.ts';
import { removeNeighbours } from '../system/leftovers.ts';
import { namesIn } from '../system/read.ts';
import { hashFile, pour, readSmall, writeAt } from './content.ts';
import type { Place, Store } from './store.ts';

export type Kept = { readonly hash: string; readonly size: number };

const chunkSize = 2 * 1024 * 1024;

export class Batch {
  private readonly added = new Map<string, Place>();
  private pack: ReturnType<Store['openPack']> | undefined;
  /** What is not yet written, and where in the pack it belongs. */
  private chunk = Buffer.alloc(0);
  private filled = 0;
  private end = 0;
  /** Sizes of the large contents that are there; looked up when the first large file comes. */
  private sizes: Set<number> | undefined;

  constructor(private readonly store: Store) {}

  /** Adds the content of a regular file; the answer describes the bytes that were stored. A link is not followed. What
   *  `goOn` throws ends the reading of a large one. */
  async addFile(path: string | Buffer, expected?: number, goOn?: () => void): Promise<Kept> {
    const bytes = readSmall(path, expected);
    return bytes === undefined ? this.addLarge(path, goOn) : this.addBytes(bytes);
  }

  /** Adds a content that is not large; `hash` is its SHA-256 (hex). */
  addBytes(bytes: Buffer, hash = sha256(bytes)): Kept {
    const size = bytes.length;
    if (!this.store.has(hash) && !this.added.has(hash)) {
      this.pack ??= this.begin();
      if (this.filled + size > this.chunk.length) this.flush();
      if (this.chunk.length === 0) this.chunk = Buffer.allocUnsafeSlow(chunkSize);
      bytes.copy(this.chunk, this.filled);
      this.added.set(hash, { pack: this.pack.name, offset: this.end + this.filled, size });
      this.filled += size;
    }
    return { hash, size };
  }

  /** Everything added is on disk and in the store when this settles. True where the names in the store's folder were
   *  flushed as well. */
  async commit(): Promise<boolean> {
    if (this.pack === undefined) return false;
    this.flush();
    if (!this.store.sync) {
      this.store.keep(this.added);
      return false;
    }
    await flushed(this.pack.file);
    if (this.pack.isNew) await syncFolder(this.store.dir);
    this.store.keep(this.added);
    return this.pack.isNew;
  }

  /** To be called in any case, once. */
  close(): void {
    if (this.pack !== undefined) closeSync(this.pack.file);
  }

  private begin(): ReturnType<Store['openPack']> {
    const pack = this.store.openPack();
    // Bytes that an interrupted take has left there stay unused.
    this.end = fstatSync(pack.file).size;
    return pack;
  }

  private flush(): void {
    if (this.pack === undefined || this.filled === 0) return;
    beforeWrite(this.store.dir);
    try {
      writeAt(this.pack.file, this.chunk.subarray(0, this.filled), this.end);
    } catch (error) {
      throw named(join(this.store.dir, this.pack.name), error);
    }
    this.end += this.filled;
    this.filled = 0;
  }

  /** Copied first, then named by the hash of the copy: the file may change while it is read. */
  private async addLarge(path: string | Buffer, goOn: (() => void) | undefined): Promise<Kept> {
    const { largeDir } = this.store;
    const known = await this.knownLarge(path, goOn);
    if (known !== undefined) {
      await this.store.keepLarge(known.hash, false);
      return known;
    }
    beforeWrite(largeDir);
    makeFolder(largeDir);
    const temporary = neighbourOf(join(largeDir, 'content'));
    try {
      const stored = await pour(path, temporary, { mode: 0o600, sync: true, goOn });
      // One that became short while it was read may be in a pack already, and then has no name here.
      if (!this.store.has(stored.hash)) {
        beforeWrite(largeDir);
        renameSync(temporary, join(largeDir, stored.hash));
        await this.store.keepLarge(stored.hash, true);
      }
      this.sizes?.add(stored.size);
      return stored;
    } catch (error) {
      // Only the copy can fail so, and the error of an open file names none.
      throw isCode(error, 'ENOSPC', 'EDQUOT') ? named(temporary, error) : error;
    } finally {
      await rm(temporary, { force: true });
    }
  }

  /** A large file whose size the store knows is read before anything is written: it was probably only touched. */
  private async knownLarge(path: string | Buffer, goOn: (() => void) | undefined): Promise<Kept | undefined> {
    this.sizes ??= await sizesIn(this.store.largeDir);
    if (!this.sizes.has(lstatSync(path).size)) return undefined;
    const found = await hashFile(path, goOn);
    return this.store.has(found.hash) ? found : undefined;
  }
}

const flushed = promisify(fdatasync);

/** Sizes of the large contents. What a killed process has left half written goes. */
async function sizesIn(folder: string): Promise<Set<number>> {
  await removeNeighbours(folder);
  const sizes = new Set<number>();
  for (const name of namesIn(folder)) {
    const size = lstatSync(join(folder, name), { throwIfNoEntry: false })?.size;
    if (size !== undefined) sizes.add(size);
  }
  return sizes;
}
