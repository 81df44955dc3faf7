/** Contents by their SHA-256: small ones one after another in a pack, large ones in separate files. */
import { createHash, randomBytes } from 'node:crypto';
import { closeSync, constants, fchmodSync, lstatSync, openSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../model/sha256.ts';
import { named } from '../system/disk-trouble.ts';
import { beforeWrite } from '../system/fence.ts';
import { isCode, isNoFile, syncFolder } from '../system/files.ts';
import { namesIn, readPlainBytes } from '../system/read.ts';
import { Batch } from './batch.ts';
import { noFollow, plainSize, pour, readWhole, writeWhole } from './content.ts';
import { DamagedStore } from './trouble.ts';

/** Where a content is: the name of the pack, and bytes from its beginning. */
export type Place = { readonly pack: string; readonly offset: number; readonly size: number };

export const firstPack = 'pack';

/** Bytes of a piece of a large content, and how many of them the next piece has once more. */
const pieceSize = 16 * 1024 * 1024;
const overlap = 64 * 1024;

/** True for zeros alone: the first byte is zero, and each other one equals the one before it. */
const isZeros = (bytes: Buffer): boolean => bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1));

/** The store in `dir`: packs hold contents without any frame, `large/<hash>` one content each. The
 *  snapshots say where in a pack a content is; they are written after the pack is flushed, so bytes that an interrupted take
 *  has left in a pack are unused. Any number of processes may read and write: each opening of the store writes into a
 *  separate pack. */
export class Store {
  private readonly places = new Map<string, Place>();
  private readonly large = new Set<string>();
  readonly largeDir: string;
  private own: string | undefined;
  private isOwnFlushed = false;
  private areLargeNamesFlushed = false;

  /** With `sync` false the caller flushes packs and their names before they are used. */
  constructor(
    readonly dir: string,
    readonly sync = true,
  ) {
    this.largeDir = join(dir, 'large');
    this.findLarge();
  }

  /** Learns where the contents of a tree are. Throws a DamagedStore when one of them is missing: a pack that is too
   *  short, a file that is gone. */
  learn(places: ReadonlyMap<string, Place>, hashes: Iterable<string>): void {
    this.findLarge();
    const ends = new Map<string, number>();
    for (const { pack, offset, size } of places.values())
      ends.set(pack, Math.max(ends.get(pack) ?? 0, offset + size));
    for (const [pack, end] of ends) {
      const path = join(this.dir, pack);
      const size = plainSize(path);
      if (size === undefined) throw damaged(`${path} is missing`);
      if (size < end) throw damaged(`${path} has ${size} bytes where ${end} were written`);
    }
    this.addPlaces(places);
    for (const hash of hashes) if (!this.has(hash)) throw damaged(`${join(this.largeDir, hash)} is missing`);
  }

  /** Where a content is in a pack; undefined for a large one. Throws for an unknown one: a tree without its place would
   *  be believed. */
  readonly placeOf = (hash: string): Place | undefined => {
    const place = this.places.get(hash);
    if (place === undefined && !this.large.has(hash))
      throw new Error(`Internal: the place of content ${hash} is not known`);
    return place;
  };

  has(hash: string): boolean {
    return this.places.has(hash) || this.large.has(hash);
  }

  /** The content, checked against its hash. Rejects with a DamagedStore when the store holds other bytes or none. */
  async read(hash: string): Promise<Buffer> {
    const bytes = this.large.has(hash) ? this.readLarge(hash) : this.readPacked(hash);
    if (sha256(bytes) !== hash) throw this.wrong(hash);
    return bytes;
  }

  /** The content, checked as `read` does, in pieces that can be held whatever its size. Each piece of one that is cut begins
   *  with the end of the piece before; pieces of nothing but zeros are left out. */
  async *pieces(hash: string): AsyncGenerator<Buffer> {
    const kept = join(this.largeDir, hash);
    const size = this.large.has(hash) ? (statSync(kept, { throwIfNoEntry: false })?.size ?? 0) : 0;
    if (size <= pieceSize) {
      yield await this.read(hash);
      return;
    }
    const digest = createHash('sha256');
    const file = await open(kept, noFollow);
    try {
      for (let at = 0; at < size; ) {
        const again = Math.min(at, overlap);
        const piece = Buffer.alloc(again + Math.min(pieceSize, size - at));
        for (let read = 0; read < piece.length; ) {
          const { bytesRead } = await file.read(piece, read, piece.length - read, at - again + read);
          if (bytesRead === 0) throw this.wrong(hash);
          read += bytesRead;
        }
        digest.update(piece.subarray(again));
        at += piece.length - again;
        if (!isZeros(piece)) yield piece;
      }
    } finally {
      await file.close();
    }
    if (digest.digest('hex') !== hash) throw this.wrong(hash);
  }

  /** Writes a content to the new file `path` with exactly this mode. Rejects as `read` does; the file may be there
   *  in part then. */
  async writeTo(hash: string, path: string | Buffer, mode: number): Promise<void> {
    if (this.large.has(hash)) {
      const kept = join(this.largeDir, hash);
      const is = lstatSync(kept, { throwIfNoEntry: false });
      if (is?.isFile() !== true) throw damaged(`${kept} is ${is === undefined ? 'missing' : 'no file'}`);
      if ((await pour(kept, path, { mode })).hash !== hash) throw this.wrong(hash);
      return;
    }
    const bytes = this.readPacked(hash, scratch);
    if (sha256(bytes) !== hash) throw this.wrong(hash);
    const file = openSync(path, 'wx', 0o600);
    try {
      writeWhole(file, bytes);
      fchmodSync(file, mode);
    } finally {
      closeSync(file);
    }
  }

  /** Begins adding. Nothing is in the store before `commit`; a batch that is never committed leaves only waste. */
  begin(): Batch {
    beforeWrite(this.dir);
    return new Batch(this);
  }

  /** For a batch: its pack is flushed, and its name. */
  keep(places: ReadonlyMap<string, Place>): void {
    this.isOwnFlushed = true;
    this.addPlaces(places);
  }

  /** For a batch: the large content is known when its name is on disk. Also of one that was there before: the process that
   *  put it there may have been killed, or have failed, before the flush. */
  async keepLarge(hash: string, isNew: boolean): Promise<void> {
    if (isNew || !this.areLargeNamesFlushed) {
      this.areLargeNamesFlushed = false;
      await syncFolder(this.largeDir);
      await syncFolder(this.dir);
      this.areLargeNamesFlushed = true;
    }
    this.large.add(hash);
  }

  /** For a batch: the pack of this opening. Another process never has the same one: its end would not be where we think. */
  openPack(): { readonly name: string; readonly file: number; readonly isNew: boolean } {
    beforeWrite(this.dir);
    if (this.own !== undefined)
      return {
        name: this.own,
        file: openSync(join(this.dir, this.own), 'r+'),
        isNew: !this.isOwnFlushed,
      };
    for (const name of [firstPack, `${firstPack}-${randomBytes(8).toString('hex')}`]) {
      try {
        const file = openSync(join(this.dir, name), 'wx+', 0o600);
        this.own = name;
        return { name, file, isNew: true };
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
      }
    }
    throw new Error(`Internal: no name was left for a pack in ${this.dir}`);
  }

  /** Of two places of a content the first is kept. */
  private addPlaces(places: ReadonlyMap<string, Place>): void {
    for (const [hash, place] of places) if (!this.places.has(hash)) this.places.set(hash, place);
  }

  private findLarge(): void {
    for (const name of namesIn(this.largeDir)) if (/^[0-9a-f]{64}$/.test(name)) this.large.add(name);
  }

  private readLarge(hash: string): Buffer {
    const path = join(this.largeDir, hash);
    const read = readPlainBytes(path, Number.POSITIVE_INFINITY);
    if (read.kind === 'text') return read.text;
    throw damaged(`${path} ${read.kind === 'missing' ? 'is missing' : read.why}`);
  }

  /** `into` is used where it has room enough; the result is valid until it is used again. */
  private readPacked(hash: string, into = none): Buffer {
    const place = this.places.get(hash);
    if (place === undefined) throw new Error(`the snapshot store knows of no content ${hash}`);
    const bytes = place.size <= into.length ? into.subarray(0, place.size) : Buffer.alloc(place.size);
    if (this.readPack(place, bytes) < place.size) throw this.wrong(hash);
    return bytes;
  }

  /** How many bytes there were to read. */
  private readPack({ pack, offset }: Place, into: Buffer): number {
    const path = join(this.dir, pack);
    let file: number | undefined;
    try {
      file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      return readWhole(file, into, offset);
    } catch (error) {
      throw isNoFile(error) ? damaged(`${path} is missing`) : named(path, error);
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  private wrong(hash: string): DamagedStore {
    const where = this.places.get(hash)?.pack ?? join('large', hash);
    return damaged(`${join(this.dir, where)} holds other bytes than were written there (content ${hash})`);
  }
}

const none = Buffer.alloc(0);

/** For contents that are written at once: as a buffer for each, many would leave the memory in holes. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

const damaged = (what: string): DamagedStore => new DamagedStore(`the snapshot store is damaged: ${what}`);
