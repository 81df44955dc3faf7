/** The content store of a run: contents by their SHA-256, in packs that only grow, by whole items. Any number of processes may read
 *  while others write. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, fdatasync, fstatSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { sha256 } from '../core/sha256.ts';
import { plainSize, pour, readWhole, writeSparse, writeWhole } from '../platform/files/bytes.ts';
import { about, named } from '../platform/files/disk-error.ts';
import { namesIn } from '../platform/files/read.ts';
import { DamagedStore, trouble } from '../platform/files/workspace-error.ts';
import { isCode, isNoFile, makeFolder, syncFolder } from '../platform/files/write.ts';
import { ContentBatch } from './batch.ts';
import { decodeItem, type ItemKind, isTornItem, itemsIn, type PackItem } from './pack.ts';

type Place = PackItem & {
  readonly pack: string;
  /** Another item of the same kind and key. */
  readonly earlier: Place | undefined;
};

/** A pack that is open for appending. */
export type OpenPack = { readonly name: string; readonly file: number; readonly isNew: boolean };

const packName = /^pack(?:-[1-9]\d*)?$/;
const numberOf = (name: string): number => Number(name.slice('pack-'.length));

/** The pieces of a large content, in order. */
const partsSchema = once(() => z.array(z.string().regex(/^[0-9a-f]{64}$/)));

/** How many bytes of a piece the next one begins with once more. */
const overlap = 64 * 1024;

/** Bytes that are read at once: items that were written together are mostly read together. */
const windowSize = 64 * 1024;

const flushed = promisify(fdatasync);

/** The store in `dir`. A content of more than `largeFrom` bytes is kept in pieces of that size. */
export class ContentStore {
  /** Where the whole items of each pack end. */
  private readonly ends = new Map<string, number>();
  private readonly index: Readonly<Record<ItemKind, Map<string, Place>>> = {
    bytes: new Map(),
    parts: new Map(),
    snapshot: new Map(),
  };
  /** Contents that are on disk: those that records name, and those of batches that were committed. Others may be in a pack too, but
   *  a process that was killed may have left them. */
  private readonly known: Set<string>;
  private areFlushed = false;
  /** Packs that were written since the last flush. */
  private readonly unflushed = new Set<string>();
  private hasNew = false;
  /** The end of the last flush. */
  private flushing: Promise<unknown> = Promise.resolve();
  /** What was read last. */
  private window = { pack: '', at: 0, bytes: Buffer.alloc(0) };

  /** `before`: the same store under an earlier name. With `sync` false nothing is flushed; with 'later' by `flush` only. */
  constructor(
    readonly dir: string,
    readonly sync: boolean | 'later' = true,
    before?: ContentStore,
  ) {
    this.known = before?.known ?? new Set();
    if (before !== undefined) this.refresh();
  }

  has(hash: string): boolean {
    return this.known.has(hash);
  }

  keys(kind: ItemKind): Iterable<string> {
    return this.index[kind].keys();
  }

  /** Begins adding. Nothing is in the store before `commit`. */
  begin(): ContentBatch {
    return new ContentBatch(this);
  }

  /** Finds what has been written since. */
  refresh(): void {
    for (const _ of this.newItems());
  }

  /** A content, without a look at all of the store where it is at the beginning; undefined where there is none, or other bytes. */
  find(hash: string): Buffer | undefined {
    for (const { kind, key } of this.newItems()) {
      if (key !== hash || kind === 'snapshot') continue;
      try {
        return this.read(hash);
      } catch (error) {
        // Another item of the same key may be right.
        if (!(error instanceof DamagedStore)) throw error;
      }
    }
    return undefined;
  }

  private *newItems(): Generator<PackItem> {
    for (const name of this.names()) {
      const file = this.openPack(name);
      if (file === undefined) continue;
      try {
        yield* this.newIn(name, file);
      } finally {
        closeSync(file);
      }
    }
  }

  /** The content, checked against its hash. Throws a DamagedStore when the store holds other bytes or none. */
  read(hash: string): Buffer {
    const parts = [...this.partsIn(hash)].map(({ bytes }) => bytes);
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  /** The content, checked as `read` does, in pieces that can be held whatever its size. Each piece but the first begins with the
   *  end of the piece before; pieces of nothing but zeros are left out. */
  *pieces(hash: string): Generator<Buffer> {
    let end = Buffer.alloc(0);
    for (const { bytes } of this.partsIn(hash)) {
      const piece = Buffer.concat([end, bytes]);
      end = Buffer.from(bytes.subarray(-overlap));
      if (!isZeros(piece)) yield piece;
    }
  }

  /** Whether the store has the content of that hash, with the bytes that it names. */
  isWhole(hash: string): boolean {
    try {
      for (const _ of this.pieces(hash));
      return true;
    } catch (error) {
      if (error instanceof DamagedStore) return false;
      throw error;
    }
  }

  /** Writes a content to the new file `path` with exactly this mode. Rejects as `read` does; the file may be there in part then. */
  async writeTo(hash: string, path: string | Buffer, mode: number): Promise<void> {
    if (this.index.parts.has(hash)) return this.writeLarge(hash, path, mode);
    const bytes = this.bytes(hash);
    const file = openSync(path, 'wx', 0o600);
    try {
      writeWhole(file, bytes);
      fchmodSync(file, mode);
    } finally {
      closeSync(file);
    }
  }

  private async writeLarge(hash: string, path: string | Buffer, mode: number): Promise<void> {
    const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      let end = 0;
      for (const { at, bytes } of this.partsIn(hash)) {
        await writeSparse(file, bytes, at);
        end = at + bytes.length;
      }
      await file.truncate(end);
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  }

  /** The item of that hash, unless it is large. */
  bytes(key: string): Buffer {
    let wrong: DamagedStore | undefined;
    for (const { bytes, pack } of this.versions('bytes', key)) {
      if (bytes !== undefined && sha256(bytes) === key) return bytes;
      wrong ??= this.wrong(pack, `content ${key}`);
    }
    throw wrong ?? damaged(`${this.dir} knows of no content ${key}`);
  }

  /** Notes that a content which a record names is on disk. Throws a DamagedStore where there is none. */
  learn(hash: string): void {
    if (this.known.has(hash)) return;
    if (this.index.parts.has(hash)) for (const part of this.partsOf(hash)) this.learn(part);
    else if (!this.index.bytes.has(hash)) throw damaged(`content ${hash} is missing in ${this.dir}`);
    this.known.add(hash);
  }

  /** Notes the same of what a batch has written. */
  note(hashes: Iterable<string>): void {
    for (const hash of hashes) this.known.add(hash);
  }

  /** The items under a key, the latest first, each with its pack; no bytes where they are out of reach or not what was written. Of
   *  two items one may have been left by a process that was killed, or by a power cut, before it was on the disk. */
  *versions(
    kind: ItemKind,
    key: string,
  ): Generator<{ readonly pack: string; readonly bytes: Buffer | undefined }, undefined> {
    for (let at = this.index[kind].get(key); at !== undefined; at = at.earlier)
      yield { pack: at.pack, bytes: this.bytesAt(at) };
  }

  /** The pack in which the latest item of a snapshot is. */
  packOf(id: string): string {
    return this.index.snapshot.get(id)?.pack ?? '';
  }

  wrong(pack: string, what: string): DamagedStore {
    return damaged(`${join(this.dir, pack)} holds other bytes than were written there (${what})`);
  }

  /** Packs that have more than whole items. */
  torn(): readonly { readonly path: string; readonly from: number }[] {
    return [...this.ends]
      .map(([name, from]) => ({ path: join(this.dir, name), from }))
      .filter(({ path, from }) => (plainSize(path) ?? 0) > from);
  }

  /** Why a file of the store is not what was written. An item that ends too early was left by a process that was killed. */
  problemOf(name: string): string | undefined {
    const file = this.openPack(name);
    if (file === undefined) return 'is no file';
    const wrong = (from: number): string => `holds other bytes than were written there (from byte ${from})`;
    try {
      let end = 0;
      for (const item of itemsIn(file, 0)) {
        if (this.bytesAt({ ...item, pack: name }) === undefined) return wrong(item.start);
        end = item.end;
      }
      return isTornItem(file, end) ? undefined : wrong(end);
    } catch (error) {
      throw named(join(this.dir, name), error);
    } finally {
      closeSync(file);
    }
  }

  /** Opens the pack in which the next items go: the last one, or a new one where that has a torn end. */
  openForWriting(): OpenPack {
    const last = this.names().at(-1);
    const file = last === undefined ? undefined : this.openPack(last, constants.O_RDWR | constants.O_APPEND);
    if (last !== undefined && file !== undefined) {
      this.scan({ name: last, file });
      if (fstatSync(file).size === this.ends.get(last)) return { name: last, file, isNew: false };
      closeSync(file);
    }
    for (let n = last === undefined ? 0 : numberOf(last) + 1; ; n++) {
      const name = n === 0 ? 'pack' : `pack-${n}`;
      try {
        return { name, file: openSync(join(this.dir, name), 'ax+', 0o600), isNew: true };
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
      }
    }
  }

  /** Learns of the items of an open pack that are not known yet. */
  scan({ name, file }: Pick<OpenPack, 'name' | 'file'>): void {
    for (const _ of this.newIn(name, file));
  }

  /** The same, item by item. */
  private *newIn(name: string, file: number): Generator<PackItem> {
    const from = this.ends.get(name) ?? 0;
    this.ends.set(name, from);
    for (const item of itemsIn(file, from)) {
      const places = this.index[item.kind];
      places.set(item.key, { ...item, pack: name, earlier: places.get(item.key) });
      this.ends.set(name, item.end);
      yield item;
    }
  }

  /** Notes that a batch has written to a pack. */
  wrote({ name, isNew }: OpenPack): void {
    this.unflushed.add(name);
    this.hasNew ||= isNew;
  }

  /** All that was committed is on disk when this settles. The first time that of other processes too: what a killed one has left
   *  counts as there. */
  async flush(): Promise<void> {
    // One after another: what one has taken on is on disk when the next one settles.
    const flushing = this.flushing.then(() => this.flushNow());
    this.flushing = flushing.catch(() => undefined);
    return flushing;
  }

  private async flushNow(): Promise<void> {
    if (this.unflushed.size === 0) return;
    // Packs that grow meanwhile belong to the next flush.
    const [names, hasNew] = [[...this.unflushed], this.hasNew];
    this.unflushed.clear();
    this.hasNew = false;
    try {
      for (const name of this.areFlushed ? names : this.names()) {
        const pack = this.openPack(name);
        if (pack !== undefined)
          await about(join(this.dir, name), flushed(pack)).finally(() => closeSync(pack));
      }
      if (hasNew) await syncFolder(this.dir);
      this.areFlushed = true;
    } catch (error) {
      for (const name of names) this.unflushed.add(name);
      this.hasNew ||= hasNew;
      throw error;
    }
  }

  /** The pieces of a content with their places, checked as a whole at the end. */
  private *partsIn(hash: string): Generator<{ readonly at: number; readonly bytes: Buffer }> {
    if (!this.index.parts.has(hash)) {
      yield { at: 0, bytes: this.bytes(hash) };
      return;
    }
    const digest = createHash('sha256');
    let at = 0;
    for (const part of this.partsOf(hash)) {
      const bytes = this.bytes(part);
      digest.update(bytes);
      yield { at, bytes };
      at += bytes.length;
    }
    if (digest.digest('hex') !== hash)
      throw damaged(`the pieces of content ${hash} in ${this.dir} are of another`);
  }

  private partsOf(hash: string): readonly string[] {
    for (const { bytes } of this.versions('parts', hash)) {
      try {
        if (bytes !== undefined) return partsSchema().parse(JSON.parse(bytes.toString()));
      } catch {
        // Another item of the same key may be right.
      }
    }
    throw damaged(`the list of the pieces of content ${hash} in ${this.dir} is not what was written there`);
  }

  private bytesAt({ pack, start, end }: Omit<Place, 'earlier'>): Buffer | undefined {
    const { window } = this;
    if (window.pack === pack && window.at <= start && end <= window.at + window.bytes.length)
      return decodeItem(window.bytes.subarray(start - window.at, end - window.at));
    const file = this.openPack(pack);
    if (file === undefined) return undefined;
    try {
      const bytes = Buffer.allocUnsafeSlow(Math.max(windowSize, end - start));
      const size = readWhole(file, bytes, start);
      this.window = { pack, at: start, bytes: bytes.subarray(0, size) };
      return decodeItem(bytes.subarray(0, Math.min(size, end - start)));
    } catch (error) {
      throw named(join(this.dir, pack), error);
    } finally {
      closeSync(file);
    }
  }

  /** In the order in which they were made. */
  private names(): readonly string[] {
    return namesIn(this.dir)
      .filter(isPackName)
      .sort((a, b) => numberOf(a) - numberOf(b));
  }

  /** Undefined where there is none, or something else than a file. */
  private openPack(name: string, flags: number = constants.O_RDONLY): number | undefined {
    const path = join(this.dir, name);
    try {
      const file = openSync(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      if (fstatSync(file).isFile()) return file;
      closeSync(file);
      return undefined;
    } catch (error) {
      if (isNoFile(error) || isCode(error, 'ELOOP', 'ENXIO')) return undefined;
      throw named(path, error);
    }
  }
}

/** A content of the store in `dir`; undefined where it has none, or other bytes. For contents at the beginning of a store. */
export const findContent = (dir: string, hash: string): Buffer | undefined =>
  new ContentStore(dir).find(hash);

export const isPackName = (name: string): boolean => packName.test(name);

const isZeros = (bytes: Buffer): boolean => bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1));

const damaged = (what: string): DamagedStore => new DamagedStore(`the content store is damaged: ${what}`);

/** Copies the store in the folder `from` into the new folder `to`, flushed, also while its owner adds to it: of an item that is
 *  being written no reader knows. Rejects with a WorkspaceError that names the file which cannot be copied. */
export async function copyStore(from: string, to: string): Promise<void> {
  makeFolder(to);
  for (const name of namesIn(from)) {
    if (!isPackName(name)) continue;
    try {
      await pour(join(from, name), join(to, name), { mode: 0o600, sync: true });
    } catch (error) {
      throw trouble('copy', join(from, name), error);
    }
  }
  await syncFolder(to);
}
