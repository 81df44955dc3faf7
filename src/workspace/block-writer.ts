/** Items on their way into a pack. */
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { named } from '../platform/files/disk-error.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { syncFolder } from '../platform/files/write.ts';
import { writeWhole } from './bytes.ts';
import { type BlockItem, type ItemKind, makeBlock, plainBlock } from './pack.ts';
import type { Packs } from './packs.ts';

/** Bytes of a block: enough to shrink well, and few enough to be read for one item. */
const blockSize = 256 * 1024;

/** Blocks that may wait for being compressed. */
const mostWaiting = 8;

/** What a writer that is never committed has written is waste. */
export class BlockWriter {
  private items: BlockItem[] = [];
  private bytes = Buffer.alloc(0);
  private filled = 0;
  private pack: ReturnType<Packs['openForWriting']> | undefined;
  private writing = Promise.resolve();
  private waiting = 0;
  private failure: unknown;

  /** With `sync` false nothing is flushed. */
  constructor(
    private readonly packs: Packs,
    private readonly sync: boolean,
  ) {
    beforeWrite(packs.dir);
  }

  /** `key`: a SHA-256 (hex). The bytes are copied. */
  add(kind: ItemKind, key: string, bytes: Buffer): void {
    if (this.failure !== undefined) throw this.failure;
    if (this.filled > 0 && this.filled + bytes.length > blockSize) this.close();
    if (this.bytes.length - this.filled < bytes.length)
      this.bytes = Buffer.allocUnsafeSlow(Math.max(blockSize, bytes.length));
    bytes.copy(this.bytes, this.filled);
    this.filled += bytes.length;
    this.items.push({ kind, key, size: bytes.length });
  }

  /** Settles when there is room for another block. */
  async room(): Promise<void> {
    if (this.waiting >= mostWaiting) await this.writing;
  }

  /** Everything added is on disk when this settles. */
  async commit(): Promise<void> {
    this.close();
    await this.writing;
    if (this.failure !== undefined) throw this.failure;
    if (this.pack === undefined || !this.sync) return;
    const { name, file, isNew } = this.pack;
    await this.packs.flush(name, file);
    if (isNew) await syncFolder(this.packs.dir);
  }

  /** To be called in any case, once. */
  async end(): Promise<void> {
    await this.writing;
    if (this.pack !== undefined) closeSync(this.pack.file);
  }

  /** Gives the block to the disk. Blocks may change places. */
  private close(): void {
    if (this.items.length === 0) return;
    const { items } = this;
    const bytes = this.bytes.subarray(0, this.filled);
    this.items = [];
    this.bytes = Buffer.alloc(0);
    this.filled = 0;
    if (this.waiting >= mostWaiting) {
      this.append(plainBlock(items, bytes));
      return;
    }
    this.waiting += 1;
    const made = makeBlock(items, bytes);
    this.writing = Promise.all([made, this.writing]).then(
      ([block]) => {
        this.waiting -= 1;
        this.append(block);
      },
      (error: unknown) => {
        this.failure ??= error;
      },
    );
  }

  private append(block: Buffer): void {
    if (this.failure !== undefined) return;
    try {
      beforeWrite(this.packs.dir);
      this.pack ??= this.packs.openForWriting();
      const { name, file } = this.pack;
      try {
        writeWhole(file, block);
      } catch (error) {
        throw named(join(this.packs.dir, name), error);
      }
      this.packs.scan(name, file);
    } catch (error) {
      this.failure = error;
    }
  }
}
