/** The packs of one store: what is in them, found by reading their lists. */
import { closeSync, constants, fdatasync, fstatSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { named } from '../platform/files/disk-error.ts';
import { namesIn } from '../platform/files/read.ts';
import { isCode, isNoFile } from '../platform/files/write.ts';
import { plainSize, readWhole } from './bytes.ts';
import { type Block, blocksIn, type ItemKind, readBlock } from './pack.ts';

type Place = {
  readonly pack: string;
  readonly block: Block;
  readonly offset: number;
  readonly size: number;
  /** Another item of the same kind and key. */
  readonly earlier: Place | undefined;
};

/** An item that was read; no bytes where they are out of reach. */
export type Version = { readonly pack: string; readonly bytes: Buffer | undefined };

export const packName = /^pack(?:-[1-9]\d*)?$/;

/** Any number of processes may read while others write: a pack only grows, by whole blocks. */
export class Packs {
  /** Where the whole blocks of each pack end. */
  private readonly ends = new Map<string, number>();
  private readonly index: Readonly<Record<ItemKind, Map<string, Place>>> = {
    bytes: new Map(),
    parts: new Map(),
    snapshot: new Map(),
  };
  /** The block that was read last: neighbours are mostly wanted together. */
  private recent: { readonly block: Block; readonly bytes: Buffer } | undefined;
  private areFlushed = false;

  constructor(readonly dir: string) {}

  /** Finds what has been written since. */
  refresh(): void {
    for (const name of this.names()) {
      const file = this.open(name);
      if (file === undefined) continue;
      try {
        this.scan(name, file);
      } finally {
        closeSync(file);
      }
    }
  }

  has(kind: ItemKind, key: string): boolean {
    return this.index[kind].has(key);
  }

  keys(kind: ItemKind): Iterable<string> {
    return this.index[kind].keys();
  }

  /** The items under a key, the latest first. Of two items one may have been left by a process that was killed, or by a power
   *  cut, before it was on the disk: its bytes need not be right. */
  *versions(kind: ItemKind, key: string): Generator<Version, undefined> {
    for (let at = this.index[kind].get(key); at !== undefined; at = at.earlier)
      yield { pack: at.pack, bytes: this.bytesAt(at) };
  }

  /** Packs that have more than whole blocks. */
  torn(): readonly { readonly path: string; readonly from: number }[] {
    return [...this.ends]
      .map(([name, from]) => ({ path: join(this.dir, name), from }))
      .filter(({ path, from }) => (plainSize(path) ?? 0) > from);
  }

  /** The pack in which the latest item of a snapshot is. */
  packOf(id: string): string {
    return this.index.snapshot.get(id)?.pack ?? '';
  }

  /** Opens the pack in which the next blocks go: the last one, or a new one where that has a torn end. */
  openForWriting(): { readonly name: string; readonly file: number; readonly isNew: boolean } {
    const names = this.names();
    const last = names.at(-1);
    if (last !== undefined) {
      const file = this.open(last, constants.O_RDWR | constants.O_APPEND);
      if (file !== undefined) {
        this.scan(last, file);
        if (fstatSync(file).size === this.ends.get(last)) return { name: last, file, isNew: false };
        closeSync(file);
      }
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

  /** Learns of the blocks of an open pack that are not known yet. */
  scan(name: string, file: number): void {
    let end = this.ends.get(name) ?? 0;
    for (const { block, items } of blocksIn(file, end)) {
      let offset = 0;
      for (const { kind, key, size } of items) {
        const places = this.index[kind];
        places.set(key, { pack: name, block, offset, size, earlier: places.get(key) });
        offset += size;
      }
      end = block.at + block.stored;
    }
    this.ends.set(name, end);
  }

  /** Flushes the pack that was written. The first time all others too: what a killed process has left in them counts as there. */
  async flush(written: string, file: number): Promise<void> {
    await flushed(file);
    if (this.areFlushed) return;
    for (const name of this.names()) {
      const other = name === written ? undefined : this.open(name);
      if (other !== undefined) await flushed(other).finally(() => closeSync(other));
    }
    this.areFlushed = true;
  }

  /** In the order in which they were made. */
  private names(): readonly string[] {
    return namesIn(this.dir)
      .filter((name) => packName.test(name))
      .sort((a, b) => numberOf(a) - numberOf(b));
  }

  /** Undefined where there is none, or something else than a file. */
  open(name: string, flags: number = constants.O_RDONLY): number | undefined {
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

  private bytesAt({ pack, block, offset, size }: Place): Buffer | undefined {
    if (this.recent?.block === block) return this.recent.bytes.subarray(offset, offset + size);
    const file = this.open(pack);
    if (file === undefined) return undefined;
    try {
      if (!block.isDeflated) {
        const bytes = Buffer.allocUnsafe(size);
        return readWhole(file, bytes, block.at + offset) < size ? undefined : bytes;
      }
      const bytes = readBlock(file, block);
      if (bytes === undefined) return undefined;
      this.recent = { block, bytes };
      return bytes.subarray(offset, offset + size);
    } catch (error) {
      throw named(join(this.dir, pack), error);
    } finally {
      closeSync(file);
    }
  }
}

const flushed = promisify(fdatasync);

const numberOf = (name: string): number => Number(name.slice('pack-'.length));
