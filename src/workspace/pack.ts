/** The form of a pack: blocks one after another, each written by one call. A block tells what it holds before it holds it, so that a
 *  reader finds everything by skipping from block to block, and sees where the whole ones end. */
import { fstatSync } from 'node:fs';
import { promisify } from 'node:util';
import { crc32, deflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib';
import { readWhole } from './bytes.ts';

/** `bytes`: a content or a folder, by its SHA-256. `parts`: the pieces of a large content, by its SHA-256. `snapshot`: the key of
 *  its top folder, by the name of the snapshot. */
export type ItemKind = (typeof kinds)[number];
const kinds = ['bytes', 'parts', 'snapshot'] as const;

/** An item of a block; `key` is a SHA-256 in hex. */
export type BlockItem = { readonly kind: ItemKind; readonly key: string; readonly size: number };

/** Where the items of a block are in its pack. */
export type Block = {
  /** The first byte of the block, and of what it holds. */
  readonly start: number;
  readonly at: number;
  readonly isDeflated: boolean;
  /** Bytes that are there, and that they become. */
  readonly stored: number;
  readonly size: number;
};

/** The header: magic, number of items, encoding, size of the items, size as stored, CRC-32 of all after the header, CRC-32 of the
 *  header. The list of items follows, then the items. */
const magic = 0x314b5046;
const headerSize = 28;
const itemSize = 37;

const deflating = promisify(deflateRaw);
/** The fastest: whether a file is kept in a third or a quarter of its size matters less than the time. */
const level = { level: 1 };

/** A block in its form on disk. Bytes that hardly shrink are kept unchanged. */
export async function makeBlock(items: readonly BlockItem[], bytes: Buffer): Promise<Buffer> {
  if (!shrinks(bytes)) return plainBlock(items, bytes);
  // A small one is done before another thread has begun.
  const deflated = bytes.length < 64 * 1024 ? deflateRawSync(bytes, level) : await deflating(bytes, level);
  const isSmaller = deflated.length < bytes.length * enough;
  return assemble(items, bytes.length, isSmaller ? deflated : bytes, isSmaller);
}

/** The same, with nothing compressed. */
export const plainBlock = (items: readonly BlockItem[], bytes: Buffer): Buffer =>
  assemble(items, bytes.length, bytes, false);

const enough = 0.9;

/** Judged by a sample. */
function shrinks(bytes: Buffer): boolean {
  const middle = Math.floor(bytes.length / 2);
  const sample = bytes.subarray(Math.max(0, middle - 2048), middle + 2048);
  return sample.length > 0 && deflateRawSync(sample, level).length < sample.length * enough;
}

function assemble(items: readonly BlockItem[], size: number, stored: Buffer, isDeflated: boolean): Buffer {
  const listEnd = headerSize + items.length * itemSize;
  const block = Buffer.allocUnsafe(listEnd + stored.length);
  let at = headerSize;
  for (const item of items) {
    block.writeUInt8(kinds.indexOf(item.kind), at);
    block.write(item.key, at + 1, 'hex');
    block.writeUInt32LE(item.size, at + 33);
    at += itemSize;
  }
  stored.copy(block, listEnd);
  const facts = [
    magic,
    items.length,
    isDeflated ? 1 : 0,
    size,
    stored.length,
    crc32(block.subarray(headerSize)),
  ];
  for (const [n, fact] of facts.entries()) block.writeUInt32LE(fact, n * 4);
  block.writeUInt32LE(crc32(block.subarray(0, headerSize - 4)), headerSize - 4);
  return block;
}

/** The whole blocks of an open pack from the byte `from`, which is the end of one. Whether their bytes are what was written is for
 *  the reader of an item to check. */
export function* blocksIn(
  file: number,
  from: number,
): Generator<{ readonly block: Block; readonly items: readonly BlockItem[] }> {
  const end = fstatSync(file).size;
  for (let start = from; start + headerSize <= end; ) {
    const header = Buffer.allocUnsafe(headerSize);
    if (readWhole(file, header, start) < headerSize) return;
    const words = wordsOf(header);
    if (!isHeader(words, header)) return;
    const [, count = 0, encoding, size = 0, stored = 0] = words;
    const at = start + headerSize + count * itemSize;
    if (at + stored > end) return;
    const list = Buffer.allocUnsafe(count * itemSize);
    readWhole(file, list, start + headerSize);
    yield { block: { start, at, isDeflated: encoding === 1, stored, size }, items: itemsIn(list) };
    start = at + stored;
  }
}

/** Whether nothing but the beginning of a block is at the byte `at`, or nothing. */
export function isTorn(file: number, at: number): boolean {
  const header = Buffer.allocUnsafe(headerSize);
  if (readWhole(file, header, at) < headerSize) return true;
  return isHeader(wordsOf(header), header);
}

const isHeader = (words: readonly number[], header: Buffer): boolean =>
  words[0] === magic && words.at(-1) === crc32(header.subarray(0, headerSize - 4));

const wordsOf = (header: Buffer): readonly number[] =>
  Array.from({ length: headerSize / 4 }, (_, n) => header.readUInt32LE(n * 4));

function itemsIn(list: Buffer): readonly BlockItem[] {
  const items: BlockItem[] = [];
  for (let at = 0; at < list.length; at += itemSize) {
    const kind = kinds[list.readUInt8(at)] ?? 'bytes';
    items.push({ kind, key: list.toString('hex', at + 1, at + 33), size: list.readUInt32LE(at + 33) });
  }
  return items;
}

/** The bytes of all items of a block; undefined where they are not what was written. */
export function readBlock(file: number, { at, stored, size, isDeflated }: Block): Buffer | undefined {
  const bytes = Buffer.allocUnsafe(stored);
  if (readWhole(file, bytes, at) < stored) return undefined;
  if (!isDeflated) return bytes;
  try {
    return inflateRawSync(bytes, { maxOutputLength: Math.max(1, size) });
  } catch {
    return undefined;
  }
}

/** Whether a block is what was written, to the last bit. */
export function isIntact(file: number, { start, at, stored }: Block): boolean {
  const bytes = Buffer.allocUnsafe(at + stored - start);
  if (readWhole(file, bytes, start) < bytes.length) return false;
  return bytes.readUInt32LE(20) === crc32(bytes.subarray(headerSize));
}
