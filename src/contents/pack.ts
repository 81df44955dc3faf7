/** The form of a pack: items one after another, each a header, which says what follows, and the bytes, compressed where that helps.
 *  A reader finds every item by skipping from header to header, and sees where the whole ones end. */
import { fstatSync } from 'node:fs';
import { promisify } from 'node:util';
import { crc32, deflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib';
import { readWhole } from '../platform/files/bytes.ts';

/** `bytes`: a content or a folder, by its SHA-256. `parts`: the pieces of a large content, by its SHA-256. `snapshot`: the key of
 *  its top folder, by the name of the snapshot. */
export const itemKinds = ['bytes', 'parts', 'snapshot'] as const;
export type ItemKind = (typeof itemKinds)[number];

/** Where an item is in its pack; `key` is a SHA-256 in hex. */
export type PackItem = {
  readonly kind: ItemKind;
  readonly key: string;
  /** Its first byte, that of the header, and the one after its last. */
  readonly start: number;
  readonly end: number;
};

/** Magic, kind, whether it is compressed, size, size in the pack, key, CRC-32 of the bytes in the pack, CRC-32 of the header. */
const headerSize = 56;
const magic = 0x324b5046;

/** Bytes that are read ahead while headers are looked for. */
const aheadSize = 64 * 1024;

const deflating = promisify(deflateRaw);

/** The fastest: whether a file is kept in a third or a quarter of its size matters less than the time. The result comes in one chunk:
 *  another thread is asked for each. */
const settings = (bytes: Buffer) => ({ level: 1, chunkSize: bytes.length });

/** The bytes in the form in which an item has them: compressed, or the same where that hardly helps. */
export function deflate(bytes: Buffer): Buffer {
  return hardlyShrinks(bytes) ? bytes : smaller(bytes, deflateRawSync(bytes, settings(bytes)));
}

/** The same by another thread. */
export async function deflateAside(bytes: Buffer): Promise<Buffer> {
  return hardlyShrinks(bytes) ? bytes : smaller(bytes, await deflating(bytes, settings(bytes)));
}

const smaller = (bytes: Buffer, deflated: Buffer): Buffer =>
  deflated.length < bytes.length * 0.9 ? deflated : bytes;

/** Whether a sample has nearly as many different bytes as random ones have, as compressed files do: that is much faster than to try. */
function hardlyShrinks(bytes: Buffer): boolean {
  if (bytes.length < 64) return true;
  const from = Math.max(0, (bytes.length >> 1) - 256);
  const sample = bytes.subarray(from, from + 512);
  return new Set(sample).size > 0.9 * 256 * (1 - Math.exp(-sample.length / 256));
}

/** `stored`: what `deflate` makes of the bytes, or the same bytes. */
export function encodeItem(kind: ItemKind, key: string, bytes: Buffer, stored: Buffer): Buffer {
  const item = Buffer.allocUnsafe(headerSize + stored.length);
  item.writeUInt32LE(magic, 0);
  item.writeUInt16LE(itemKinds.indexOf(kind), 4);
  item.writeUInt16LE(stored === bytes ? 0 : 1, 6);
  item.writeUInt32LE(bytes.length, 8);
  item.writeUInt32LE(stored.length, 12);
  item.write(key, 16, 'hex');
  item.writeUInt32LE(crc32(stored), 48);
  item.writeUInt32LE(crc32(item.subarray(0, 52)), 52);
  stored.copy(item, headerSize);
  return item;
}

/** The bytes of an item, given all of it; undefined where they are not what was written. */
export function decodeItem(item: Buffer): Buffer | undefined {
  if (!isHeader(item)) return undefined;
  const stored = item.subarray(headerSize);
  if (item.readUInt32LE(12) !== stored.length || item.readUInt32LE(48) !== crc32(stored)) return undefined;
  if (item.readUInt16LE(6) === 0) return stored;
  try {
    return inflateRawSync(stored, { maxOutputLength: Math.max(1, item.readUInt32LE(8)) });
  } catch {
    return undefined;
  }
}

/** The whole items of an open pack from the byte `from`, which is the end of one. Whether their bytes are what was written is for
 *  the reader of an item to check. */
export function* itemsIn(file: number, from: number): Generator<PackItem> {
  const { size } = fstatSync(file);
  const ahead = Buffer.allocUnsafe(Math.min(aheadSize, Math.max(0, size - from)));
  let [at, filled] = [from, 0];
  for (let start = from; start + headerSize <= size; ) {
    if (start + headerSize > at + filled) {
      at = start;
      filled = readWhole(file, ahead, at);
    }
    const header = ahead.subarray(start - at, Math.min(filled, start - at + headerSize));
    if (!isHeader(header)) return;
    const end = start + headerSize + header.readUInt32LE(12);
    if (end > size) return;
    const kind = itemKinds[header.readUInt16LE(4)] ?? 'bytes';
    yield { kind, key: header.toString('hex', 16, 48), start, end };
    start = end;
  }
}

/** Whether nothing is at the byte `at` but the beginning of an item, which a process left that was killed, or nothing. */
export function isTornItem(file: number, at: number): boolean {
  const header = Buffer.alloc(headerSize);
  return readWhole(file, header, at) < headerSize || isHeader(header);
}

const isHeader = (bytes: Buffer): boolean =>
  bytes.length >= headerSize &&
  bytes.readUInt32LE(0) === magic &&
  bytes.readUInt32LE(52) === crc32(bytes.subarray(0, 52));
