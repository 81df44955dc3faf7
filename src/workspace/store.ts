/** Contents by their SHA-256: small ones one after another in a pack, large ones in files of their own. */
import { hash as hashOf, randomBytes } from 'node:crypto';
import { closeSync, constants, existsSync, fchmodSync, openSync, readdirSync } from 'node:fs';
import { chmod, copyFile, type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeWrite } from '../system/fence.ts';
import { isMissing } from '../system/files.ts';
import { hashFile, readSmall, readWhole, syncFolder, writeAt, writeWhole } from './content.ts';

const chunkSize = 4 * 1024 * 1024;

/** Where a content lies in the pack. */
export type Place = { readonly offset: number; readonly size: number };

/** The store in `dir`: `pack` holds contents without any frame, `large/<hash>` one content each. Where a content lies
 *  in the pack is told by the snapshots that have it, which are written after the pack is flushed: what a cut-off
 *  take has left in the pack is waste that nothing names. Any number of processes may read; one at a time may write. */
export class Store {
  private readonly places = new Map<string, Place>();
  private readonly large = new Set<string>();
  private readonly pack: string;
  private readonly largeDir: string;

  constructor(private readonly dir: string) {
    this.pack = join(dir, 'pack');
    this.largeDir = join(dir, 'large');
    this.findLarge();
  }

  /** Learns where contents lie, from a snapshot on disk. */
  learn(places: ReadonlyMap<string, Place>): void {
    for (const [hash, place] of places) if (!this.places.has(hash)) this.places.set(hash, place);
    this.findLarge();
  }

  /** Where a content lies in the pack; undefined for a large one. */
  placeOf(hash: string): Place | undefined {
    return this.places.get(hash);
  }

  has(hash: string): boolean {
    return this.places.has(hash) || this.large.has(hash);
  }

  /** The content, checked against its hash. Rejects when the store knows of none or holds other bytes. */
  async read(hash: string): Promise<Buffer> {
    const bytes = this.large.has(hash) ? await readFile(join(this.largeDir, hash)) : this.readPacked(hash);
    if (hashOf('sha256', bytes, 'hex') !== hash) throw damaged(hash);
    return bytes;
  }

  /** Writes a content to the new file `path` with exactly this mode. */
  async writeTo(hash: string, path: string | Buffer, mode: number): Promise<void> {
    if (this.large.has(hash)) {
      const flags = constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL;
      await copyFile(join(this.largeDir, hash), path, flags);
      if ((await hashFile(path)).hash !== hash) throw damaged(hash);
      await chmod(path, mode);
      return;
    }
    const bytes = await this.read(hash);
    const file = openSync(path, 'wx', 0o600);
    try {
      writeWhole(file, bytes);
      fchmodSync(file, mode);
    } finally {
      closeSync(file);
    }
  }

  /** Begins adding. Nothing is in the store before `commit`; a batch that is never committed leaves only waste. */
  async begin(): Promise<Batch> {
    beforeWrite(this.dir);
    await mkdir(this.largeDir, { recursive: true });
    this.findLarge();
    for (const name of namesIn(this.largeDir)) {
      if (name.endsWith('.tmp')) await rm(join(this.largeDir, name), { force: true });
    }
    const isNew = !existsSync(this.pack);
    return new Batch({
      pack: this.pack,
      largeDir: this.largeDir,
      has: (hash) => this.has(hash),
      keep: async (places) => {
        if (isNew) await syncFolder(this.dir);
        for (const [hash, place] of places) this.places.set(hash, place);
      },
      keepLarge: (hash) => this.large.add(hash),
    });
  }

  private findLarge(): void {
    for (const name of namesIn(this.largeDir)) if (/^[0-9a-f]{64}$/.test(name)) this.large.add(name);
  }

  private readPacked(hash: string): Buffer {
    const place = this.places.get(hash);
    if (place === undefined) throw new Error(`the snapshot store knows of no content ${hash}`);
    const file = openSync(this.pack, 'r');
    try {
      const bytes = Buffer.alloc(place.size);
      if (readWhole(file, bytes, place.offset) < place.size) throw damaged(hash);
      return bytes;
    } finally {
      closeSync(file);
    }
  }
}

type Into = {
  readonly pack: string;
  readonly largeDir: string;
  has(hash: string): boolean;
  /** Called when the pack is flushed. */
  keep(places: ReadonlyMap<string, Place>): Promise<void>;
  keepLarge(hash: string): void;
};

/** Contents on their way into the store. */
export class Batch {
  private readonly added = new Map<string, Place>();
  private waiting: Buffer[] = [];
  private waitingSize = 0;
  private end: number | undefined;
  private file: FileHandle | undefined;

  constructor(private readonly into: Into) {}

  /** Adds the content of a regular file; the answer describes the bytes that were stored. A link is not followed. */
  async addFile(path: string | Buffer): Promise<{ readonly hash: string; readonly size: number }> {
    const bytes = readSmall(path);
    if (bytes === undefined) return this.addLarge(path);
    const size = bytes.length;
    const hash = hashOf('sha256', bytes, 'hex');
    if (!this.into.has(hash) && !this.added.has(hash)) {
      this.waiting.push(Buffer.from(bytes));
      this.end ??= await this.openPack();
      this.added.set(hash, { offset: this.end + this.waitingSize, size });
      this.waitingSize += size;
      if (this.waitingSize >= chunkSize) await this.flush();
    }
    return { hash, size };
  }

  /** Everything added is on disk and in the store when this settles. */
  async commit(): Promise<void> {
    if (this.added.size === 0) return;
    await this.flush();
    await this.file?.datasync();
    await this.into.keep(this.added);
  }

  /** To be called in any case, once. */
  async close(): Promise<void> {
    await this.file?.close();
  }

  private async openPack(): Promise<number> {
    this.file = await open(this.into.pack, constants.O_RDWR | constants.O_CREAT, 0o600);
    return (await this.file.stat()).size;
  }

  private async flush(): Promise<void> {
    if (this.file === undefined || this.end === undefined) return;
    const bytes = Buffer.concat(this.waiting);
    // Whoever writes here at the same time has taken the run from us while we slept; its contents must stay.
    beforeWrite(this.into.pack);
    if ((await this.file.stat()).size !== this.end)
      throw new Error(`another process writes into the snapshot store ${this.into.pack}`);
    beforeWrite(this.into.pack);
    await writeAt(this.file, bytes, this.end);
    this.end += bytes.length;
    this.waiting = [];
    this.waitingSize = 0;
  }

  private async addLarge(path: string | Buffer): Promise<{ readonly hash: string; readonly size: number }> {
    const first = await hashFile(path);
    if (this.into.has(first.hash)) return first;
    const neighbour = join(this.into.largeDir, `${randomBytes(8).toString('hex')}.tmp`);
    try {
      await copyFile(path, neighbour, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
      await chmod(neighbour, 0o600);
      // Hashed again from the copy: a name in the store is never another content's.
      const stored = await hashFile(neighbour, true);
      await rename(neighbour, join(this.into.largeDir, stored.hash));
      await syncFolder(this.into.largeDir);
      this.into.keepLarge(stored.hash);
      return stored;
    } finally {
      await rm(neighbour, { force: true });
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

const damaged = (hash: string): Error =>
  new Error(`the snapshot store is damaged: it holds other bytes under ${hash}`);
