/** Where contents lie, by their hash: as bytes, since there may be many, and as a map of strings and objects each would
 *  take four times as much. */

/** Where a content lies: the name of the pack, and bytes from its beginning. */
export type Place = { readonly pack: string; readonly offset: number; readonly size: number };

export const firstPack = 'pack';

// A record is the hash, the size and the pack's number, and its offset beside them.
const hashWords = 8;
const recordWords = hashWords + 2;
const chunkRecords = 512;
type Chunk = { readonly words: Uint32Array; readonly offsets: Float64Array };

const hashBytes = hashWords * Uint32Array.BYTES_PER_ELEMENT;
const key = new Uint32Array(hashWords);
const keyBytes = Buffer.from(key.buffer);

export class Places {
  private readonly chunks: Chunk[] = [];
  private readonly names: string[] = [];
  /** Numbers of records, counted from 1, at the place which the hash begins with or the next free one. */
  private index = new Uint32Array(64);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Names of all packs in which something lies. */
  get packs(): readonly string[] {
    return this.names;
  }

  has(hash: string): boolean {
    return this.find(hash).record > 0;
  }

  get(hash: string): Place | undefined {
    const { record } = this.find(hash);
    return record === 0 ? undefined : this.placeAt(record - 1);
  }

  /** Takes a place down; the one that is known of this content stays. Throws where it can be no place in a pack. */
  add(hash: string, { pack, offset, size }: Place): void {
    const { record, slot } = this.find(hash);
    if (record > 0) return;
    if (offset < 0 || size < 0 || size > 0xffffffff || slot < 0)
      throw new Error(`no content ${hash} of ${size} bytes lies at ${offset}`);
    let number = this.names.indexOf(pack);
    if (number < 0) number = this.names.push(pack) - 1;
    const at = this.count % chunkRecords;
    if (at === 0)
      this.chunks.push({
        words: new Uint32Array(chunkRecords * recordWords),
        offsets: new Float64Array(chunkRecords),
      });
    const { words, offsets } = this.chunkOf(this.count);
    words.set(key, at * recordWords);
    words[at * recordWords + hashWords] = size;
    words[at * recordWords + hashWords + 1] = number;
    offsets[at] = offset;
    this.count += 1;
    this.index[slot] = this.count;
    if (this.count * 2 > this.index.length) this.grow();
  }

  /** Takes down all that another one has. */
  addAll(others: Places): void {
    for (const [hash, place] of others) this.add(hash, place);
  }

  *[Symbol.iterator](): Generator<[hash: string, place: Place]> {
    for (let n = 0; n < this.count; n++) {
      const { words } = this.chunkOf(n);
      const from = words.byteOffset + (n % chunkRecords) * recordWords * Uint32Array.BYTES_PER_ELEMENT;
      yield [Buffer.from(words.buffer, from, hashBytes).toString('hex'), this.placeAt(n)];
    }
  }

  private chunkOf(n: number): Chunk {
    const chunk = this.chunks[Math.floor(n / chunkRecords)];
    if (chunk === undefined) throw new Error('Internal: a place beyond the last one');
    return chunk;
  }

  private placeAt(n: number): Place {
    const { words, offsets } = this.chunkOf(n);
    const at = n % chunkRecords;
    const size = words[at * recordWords + hashWords] ?? 0;
    const pack = this.names[words[at * recordWords + hashWords + 1] ?? 0] ?? firstPack;
    return { pack, offset: offsets[at] ?? 0, size };
  }

  /** The number of a content's record, 0 where there is none, and where in the index it stands or would; -1 for what is
   *  no hash. Leaves the hash in `key`. */
  private find(hash: string): { readonly record: number; readonly slot: number } {
    if (hash.length !== 2 * hashBytes || keyBytes.write(hash, 'hex') !== hashBytes)
      return { record: 0, slot: -1 };
    const mask = this.index.length - 1;
    for (let slot = (key[0] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const record = this.index[slot] ?? 0;
      if (record === 0 || this.isKey(record - 1)) return { record, slot };
    }
  }

  private isKey(n: number): boolean {
    const { words } = this.chunkOf(n);
    const from = (n % chunkRecords) * recordWords;
    for (let word = 0; word < hashWords; word++) if (words[from + word] !== key[word]) return false;
    return true;
  }

  private grow(): void {
    this.index = new Uint32Array(this.index.length * 2);
    const mask = this.index.length - 1;
    for (let n = 0; n < this.count; n++) {
      let slot = (this.chunkOf(n).words[(n % chunkRecords) * recordWords] ?? 0) & mask;
      while (this.index[slot] !== 0) slot = (slot + 1) & mask;
      this.index[slot] = n + 1;
    }
  }
}

/** A set of hashes, of which there may be many. */
export class Hashes {
  private readonly places = new Places();

  has(hash: string): boolean {
    return this.places.has(hash);
  }

  add(hash: string): void {
    this.places.add(hash, nowhere);
  }
}

const nowhere: Place = { pack: '', offset: 0, size: 0 };
