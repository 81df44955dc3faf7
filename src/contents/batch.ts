/** Contents on their way into the store. */
import { createHash } from 'node:crypto';
import { closeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../core/sha256.ts';
import { largeFrom, noFollow, readSmall, writeWhole } from '../platform/files/bytes.ts';
import { named } from '../platform/files/disk-error.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { deflate, deflateAside, encodeItem, type ItemKind } from './pack.ts';
import type { ContentStore, OpenPack } from './store.ts';

export type StoredContent = { readonly hash: string; readonly size: number };

/** Bytes that are gathered for one write. */
const writeSize = 256 * 1024;

/** From this size on bytes are compressed by another thread; less is done before that has begun. */
const largeEnough = 32 * 1024;

/** Bytes that may wait for being compressed. Beyond them bytes are stored unchanged: the disk is faster then. */
const mostWaiting = 2 * 1024 * 1024;

/** What a batch that is never committed has written is waste. */
export class ContentBatch {
  private readonly added = new Set<string>();
  private items: Buffer[] = [];
  private filled = 0;
  private pack: OpenPack | undefined;
  private waiting = 0;
  private compressed: Promise<void> = Promise.resolve();
  private failure: unknown;

  constructor(private readonly store: ContentStore) {
    beforeWrite(store.dir);
  }

  /** Adds the content of a regular file; the answer describes the bytes that were stored. A link is not followed. `goOn` is called
   *  before each piece of a large one; what it throws ends the reading. */
  async addFile(path: string | Buffer, expected?: number, goOn?: () => void): Promise<StoredContent> {
    const bytes = readSmall(path, expected);
    return bytes === undefined ? this.addLarge(path, goOn) : this.addBytes(bytes);
  }

  /** Adds a content that is not large; `hash` is its SHA-256 (hex). */
  addBytes(bytes: Buffer, hash = sha256(bytes)): StoredContent {
    this.addOnce('bytes', hash, bytes);
    return { hash, size: bytes.length };
  }

  /** Adds a content of any size. */
  addContent(bytes: Buffer): StoredContent {
    if (bytes.length <= largeFrom) return this.addBytes(bytes);
    const parts: string[] = [];
    for (let at = 0; at < bytes.length; at += largeFrom)
      parts.push(this.addBytes(bytes.subarray(at, at + largeFrom)).hash);
    const hash = sha256(bytes);
    this.addOnce('parts', hash, Buffer.from(JSON.stringify(parts)));
    return { hash, size: bytes.length };
  }

  /** Adds an item in any case, also where the store has one of that kind and key (a SHA-256 in hex). The bytes are copied. Items may
   *  change places. */
  add(kind: ItemKind, key: string, bytes: Buffer): void {
    if (this.failure !== undefined) throw this.failure;
    if (bytes.length < largeEnough) this.append(encodeItem(kind, key, bytes, deflate(bytes)));
    else if (this.waiting >= mostWaiting) this.append(encodeItem(kind, key, bytes, bytes));
    else this.compress(kind, key, Buffer.from(bytes));
  }

  private compress(kind: ItemKind, key: string, bytes: Buffer): void {
    this.waiting += bytes.length;
    const stored = deflateAside(bytes);
    this.compressed = Promise.all([stored, this.compressed])
      .then(([deflated]) => {
        this.waiting -= bytes.length;
        if (this.failure === undefined) this.append(encodeItem(kind, key, bytes, deflated));
      })
      .catch((error: unknown) => {
        this.failure ??= error;
      });
  }

  private append(item: Buffer): void {
    if (this.filled + item.length > writeSize) this.write();
    this.items.push(item);
    this.filled += item.length;
  }

  /** Everything added is in the store when this settles, and on disk unless the store flushes later. */
  async commit(): Promise<void> {
    await this.compressed;
    if (this.failure !== undefined) throw this.failure;
    this.write();
    if (this.pack !== undefined && this.store.sync !== false) this.store.wrote(this.pack);
    if (this.store.sync === true) await this.store.flush();
    this.store.note(this.added);
  }

  /** To be called in any case, once. */
  async end(): Promise<void> {
    await this.compressed;
    if (this.pack !== undefined) closeSync(this.pack.file);
  }

  private addOnce(kind: ItemKind, hash: string, bytes: Buffer): void {
    if (this.store.has(hash) || this.added.has(hash)) return;
    this.add(kind, hash, bytes);
    this.added.add(hash);
  }

  /** By one call: of two processes that write at the same time each appends whole items. */
  private write(): void {
    if (this.filled === 0) return;
    const bytes = Buffer.concat(this.items);
    this.items = [];
    this.filled = 0;
    beforeWrite(this.store.dir);
    this.pack ??= this.store.openForWriting();
    try {
      writeWhole(this.pack.file, bytes);
    } catch (error) {
      throw named(join(this.store.dir, this.pack.name), error);
    }
    this.store.scan(this.pack);
  }

  /** The file may change while it is read: it is named by the bytes that were. */
  private async addLarge(path: string | Buffer, goOn: (() => void) | undefined): Promise<StoredContent> {
    const whole = createHash('sha256');
    const parts: string[] = [];
    const buffer = Buffer.allocUnsafe(largeFrom);
    const file = await open(path, noFollow);
    try {
      for (let size = 0; ; ) {
        goOn?.();
        let filled = 0;
        for (let count = 1; count > 0 && filled < buffer.length; filled += count)
          count = (await file.read(buffer, filled, buffer.length - filled, size + filled)).bytesRead;
        const piece = buffer.subarray(0, filled);
        whole.update(piece);
        size += filled;
        if (filled > 0 || size === 0) parts.push(this.addBytes(piece).hash);
        if (filled === buffer.length) continue;
        const hash = whole.digest('hex');
        if (parts.length > 1) this.addOnce('parts', hash, Buffer.from(JSON.stringify(parts)));
        return { hash, size };
      }
    } finally {
      await file.close();
    }
  }
}
