/** Where contents lie, by their hash: as bytes, since there may be many, and as a map of strings and objects each would
 *  take four times as much. */

/** Where a content lies: the name of the pack, and bytes from its beginning. */
export type Place = { readonly pack: string; readonly offset: number; readonly size: number };

export const firstPack = 'pack';

const chunkRecords = 512;
const hashWords = 8;
const hashBytes = hashWords * Uint32Array.BYTES_PER_ELEMENT;
const key = new Uint32Array(hashWords);
const keyBytes = Buffer.from(key.buffer);
/** The hash that stands in `key`: one is asked about several times before the next. */
let keyText: string | undefined;

/** A set of SHA-256 hashes in a hash table of numbers (open addressing). Each hash has a number, in the order in which
 *  they were added, from 0. */
export class Hashes {
  private readonly chunks: Uint32Array[] = [];
  /** In each slot 1 + the number of a hash, 0 where it is free. The first slot to try is told by the hash's own bits. */
  private index = new Uint32Array(64);
  private count = 0;

  get size(): number {
    return this.count;
  }

  has(hash: string): boolean {
    return this.numberOf(hash) >= 0;
  }

  /** -1 for one that is not there. */
  numberOf(hash: string): number {
    return this.find(hash).number;
  }

  /** True for a hash that is new. What is no hash is not added. */
  add(hash: string): boolean {
    const { number, slot } = this.find(hash);
    if (number >= 0 || slot < 0) return false;
    const at = this.count % chunkRecords;
    if (at === 0) this.chunks.push(new Uint32Array(chunkRecords * hashWords));
    this.chunkOf(this.count).set(key, at * hashWords);
    this.count += 1;
    this.index[slot] = this.count;
    if (this.count * 2 > this.index.length) this.grow();
    return true;
  }

  at(number: number): string {
    const { buffer, byteOffset } = this.chunkOf(number);
    return Buffer.from(buffer, byteOffset + (number % chunkRecords) * hashBytes, hashBytes).toString('hex');
  }

  private chunkOf(number: number): Uint32Array {
    const chunk = this.chunks[Math.floor(number / chunkRecords)];
    if (chunk === undefined) throw new Error('Internal: a hash beyond the last one');
    return chunk;
  }

  /** The number of a hash, -1 where there is none, and where in the index it stands or would; -1 for what is no hash.
   *  Leaves the hash in `key`. */
  private find(hash: string): { readonly number: number; readonly slot: number } {
    if (hash !== keyText) {
      keyText = undefined;
      if (hash.length !== 2 * hashBytes || keyBytes.write(hash, 'hex') !== hashBytes)
        return { number: -1, slot: -1 };
      keyText = hash;
    }
    const mask = this.index.length - 1;
    for (let slot = (key[0] ?? 0) & mask; ; slot = (slot + 1) & mask) {
      const number = (this.index[slot] ?? 0) - 1;
      if (number < 0 || this.isKey(number)) return { number, slot };
    }
  }

  private isKey(number: number): boolean {
    const words = this.chunkOf(number);
    const from = (number % chunkRecords) * hashWords;
    for (let word = 0; word < hashWords; word++) if (words[from + word] !== key[word]) return false;
    return true;
  }

  private grow(): void {
    this.index = new Uint32Array(this.index.length * 2);
    const mask = this.index.length - 1;
    for (let n = 0; n < this.count; n++) {
      let slot = (this.chunkOf(n)[(n % chunkRecords) * hashWords] ?? 0) & mask;
      while (this.index[slot] !== 0) slot = (slot + 1) & mask;
      this.index[slot] = n + 1;
    }
  }
}

/** Of `chunkRecords` contents: size and number of the pack (two words each), and the offset in the pack. */
type Chunk = { readonly words: Uint32Array; readonly offsets: Float64Array };

export class Places {
  private readonly hashes = new Hashes();
  private readonly chunks: Chunk[] = [];
  private readonly names: string[] = [];

  get size(): number {
    return this.hashes.size;
  }

  /** Names of all packs in which something lies. */
  get packs(): readonly string[] {
    return this.names;
  }

  has(hash: string): boolean {
    return this.hashes.has(hash);
  }

  get(hash: string): Place | undefined {
    const number = this.hashes.numberOf(hash);
    return number < 0 ? undefined : this.placeAt(number);
  }

  /** Adds where a content lies, unless a place of it is known already. Throws where it can be no place in a pack. */
  add(hash: string, { pack, offset, size }: Place): void {
    if (this.hashes.has(hash)) return;
    const number = this.size;
    if (offset < 0 || size < 0 || size > 0xffffffff || !this.hashes.add(hash))
      throw new Error(`no content ${hash} of ${size} bytes lies at ${offset}`);
    let name = this.names.indexOf(pack);
    if (name < 0) name = this.names.push(pack) - 1;
    const at = number % chunkRecords;
    if (at === 0)
      this.chunks.push({
        words: new Uint32Array(chunkRecords * 2),
        offsets: new Float64Array(chunkRecords),
      });
    const { words, offsets } = this.chunkOf(number);
    words[at * 2] = size;
    words[at * 2 + 1] = name;
    offsets[at] = offset;
  }

  /** Adds all that another one has. */
  addAll(others: Places): void {
    for (const [hash, place] of others) this.add(hash, place);
  }

  *[Symbol.iterator](): Generator<[hash: string, place: Place]> {
    for (let n = 0; n < this.size; n++) yield [this.hashes.at(n), this.placeAt(n)];
  }

  private chunkOf(n: number): Chunk {
    const chunk = this.chunks[Math.floor(n / chunkRecords)];
    if (chunk === undefined) throw new Error('Internal: a place beyond the last one');
    return chunk;
  }

  private placeAt(n: number): Place {
    const { words, offsets } = this.chunkOf(n);
    const at = n % chunkRecords;
    const pack = this.names[words[at * 2 + 1] ?? 0] ?? firstPack;
    return { pack, offset: offsets[at] ?? 0, size: words[at * 2] ?? 0 };
  }
}
