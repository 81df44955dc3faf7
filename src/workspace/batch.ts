/** Contents on their way into the store. */
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { sha256 } from '../core/sha256.ts';
import type { BlockWriter } from './block-writer.ts';
import { largeFrom, noFollow, readSmall } from './bytes.ts';
import type { Store } from './contents.ts';
import type { ItemKind } from './pack.ts';

export type Kept = { readonly hash: string; readonly size: number };

export class Batch {
  private readonly added = new Set<string>();

  constructor(
    private readonly store: Store,
    private readonly writer: BlockWriter,
  ) {}

  /** Adds the content of a regular file; the answer describes the bytes that were stored. A link is not followed. `goOn` is called
   *  before each piece of a large one; what it throws ends the reading. */
  async addFile(path: string | Buffer, expected?: number, goOn?: () => void): Promise<Kept> {
    await this.writer.room();
    const bytes = readSmall(path, expected);
    return bytes === undefined ? this.addLarge(path, goOn) : this.addBytes(bytes);
  }

  /** Adds a content that is not large; `hash` is its SHA-256 (hex). */
  addBytes(bytes: Buffer, hash = sha256(bytes)): Kept {
    this.addContent('bytes', hash, bytes);
    return { hash, size: bytes.length };
  }

  /** Adds what no other item has the place of: it is written in any case. */
  add(kind: ItemKind, key: string, bytes: Buffer): void {
    this.writer.add(kind, key, bytes);
  }

  /** Everything added is on disk and in the store when this settles. */
  async commit(): Promise<void> {
    await this.writer.commit();
    this.store.keep(this.added);
  }

  /** To be called in any case, once. */
  end(): Promise<void> {
    return this.writer.end();
  }

  private addContent(kind: ItemKind, hash: string, bytes: Buffer): void {
    if (this.store.has(hash) || this.added.has(hash)) return;
    this.writer.add(kind, hash, bytes);
    this.added.add(hash);
  }

  /** The file may change while it is read: it is named by the bytes that were. */
  private async addLarge(path: string | Buffer, goOn: (() => void) | undefined): Promise<Kept> {
    const whole = createHash('sha256');
    const parts: string[] = [];
    const buffer = Buffer.allocUnsafe(largeFrom);
    const file = await open(path, noFollow);
    try {
      for (let size = 0; ; ) {
        goOn?.();
        await this.writer.room();
        let filled = 0;
        for (let count = 1; count > 0 && filled < buffer.length; filled += count)
          count = (await file.read(buffer, filled, buffer.length - filled, size + filled)).bytesRead;
        const piece = buffer.subarray(0, filled);
        whole.update(piece);
        size += filled;
        if (filled > 0 || size === 0) parts.push(this.addBytes(piece).hash);
        if (filled === buffer.length) continue;
        const hash = whole.digest('hex');
        if (parts.length > 1) this.addContent('parts', hash, Buffer.from(JSON.stringify(parts)));
        return { hash, size };
      }
    } finally {
      await file.close();
    }
  }
}
