/** Contents by their SHA-256. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fchmodSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { once } from '../core/once.ts';
import { sha256 } from '../core/sha256.ts';
import { namesIn } from '../platform/files/read.ts';
import { makeFolder, syncFolder } from '../platform/files/write.ts';
import { Batch } from './batch.ts';
import { BlockWriter } from './block-writer.ts';
import { pour, writeSparse, writeWhole } from './bytes.ts';
import { DamagedStore, trouble } from './errors.ts';
import { Packs, packName } from './packs.ts';

/** The pieces of a large content, in order. */
const partsSchema = once(() => z.array(z.string().regex(/^[0-9a-f]{64}$/)));

/** How many bytes of a piece the next one begins with once more. */
const overlap = 64 * 1024;

/** The store in `dir`. A content of more than `largeFrom` bytes is kept in pieces of that size. */
export class Store {
  readonly packs: Packs;
  /** Contents that are on disk: those of snapshots that were loaded, and those of batches that were committed. Others may be in a
   *  pack too, but a process that was killed may have left them. */
  private readonly known: Set<string>;

  /** `before`: the same store under an earlier name. */
  constructor(
    readonly dir: string,
    private readonly sync = true,
    before?: Store,
  ) {
    this.packs = new Packs(dir);
    this.known = before?.known ?? new Set();
    if (before !== undefined) this.packs.refresh();
  }

  has(hash: string): boolean {
    return this.known.has(hash);
  }

  /** Begins adding. Nothing is in the store before `commit`. */
  begin(): Batch {
    return new Batch(this, new BlockWriter(this.packs, this.sync));
  }

  /** The content, checked against its hash. Throws a DamagedStore when the store holds other bytes or none. */
  read(hash: string): Buffer {
    const parts = this.partsOf(hash);
    if (parts === undefined) return this.bytes(hash);
    const bytes = Buffer.concat(parts.map((part) => this.bytes(part)));
    if (sha256(bytes) !== hash) throw damaged(`the pieces of content ${hash} in ${this.dir} are of another`);
    return bytes;
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

  /** Writes a content to the new file `path` with exactly this mode. Rejects as `read` does; the file may be there
   *  in part then. */
  async writeTo(hash: string, path: string | Buffer, mode: number): Promise<void> {
    if (this.partsOf(hash) !== undefined) return this.writeLarge(hash, path, mode);
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

  /** The pieces of a content with their places, checked as a whole at the end. */
  private *partsIn(hash: string): Generator<{ readonly at: number; readonly bytes: Buffer }> {
    const digest = createHash('sha256');
    let at = 0;
    for (const part of this.partsOf(hash) ?? [hash]) {
      const bytes = this.bytes(part);
      digest.update(bytes);
      yield { at, bytes };
      at += bytes.length;
    }
    if (digest.digest('hex') !== hash)
      throw damaged(`the pieces of content ${hash} in ${this.dir} are of another`);
  }

  /** Undefined for a content that is not large. */
  private partsOf(hash: string): readonly string[] | undefined {
    for (const { bytes } of this.packs.versions('parts', hash)) {
      try {
        if (bytes !== undefined) return partsSchema().parse(JSON.parse(bytes.toString()));
      } catch {
        // Another item of the same key may be right.
      }
    }
    if (!this.packs.has('parts', hash)) return undefined;
    throw damaged(`the list of the pieces of content ${hash} in ${this.dir} is not what was written there`);
  }

  /** The item of that hash, unless it is large. */
  bytes(key: string): Buffer {
    let wrong: DamagedStore | undefined;
    for (const { bytes, pack } of this.packs.versions('bytes', key)) {
      if (bytes !== undefined && sha256(bytes) === key) return bytes;
      wrong ??= this.wrong(pack, `content ${key}`);
    }
    throw wrong ?? damaged(`${this.dir} knows of no content ${key}`);
  }

  /** Notes that a content of a snapshot is on disk. Throws a DamagedStore where there is none. */
  learn(hash: string): void {
    if (this.known.has(hash)) return;
    if (this.packs.has('parts', hash)) for (const part of this.partsOf(hash) ?? []) this.learn(part);
    else if (!this.packs.has('bytes', hash)) throw damaged(`content ${hash} is missing in ${this.dir}`);
    this.known.add(hash);
  }

  /** Notes the same of what a batch has written. */
  keep(hashes: Iterable<string>): void {
    for (const hash of hashes) this.known.add(hash);
  }

  wrong(pack: string, what: string): DamagedStore {
    return damaged(`${join(this.dir, pack)} holds other bytes than were written there (${what})`);
  }
}

const isZeros = (bytes: Buffer): boolean => bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1));

export const damaged = (what: string, cause?: unknown): DamagedStore =>
  new DamagedStore(`the snapshot store is damaged: ${what}`, { cause });

/** Copies the store in the folder `from` into the new folder `to`, flushed, also while its owner adds to it: of a block that is
 *  being written no reader knows. Rejects with a WorkspaceError that names the file which cannot be copied. */
export async function copyStore(from: string, to: string): Promise<void> {
  makeFolder(to);
  for (const name of namesIn(from)) {
    if (!packName.test(name)) continue;
    try {
      await pour(join(from, name), join(to, name), { mode: 0o600, sync: true });
    } catch (error) {
      throw trouble('copy', join(from, name), error);
    }
  }
  await syncFolder(to);
}
