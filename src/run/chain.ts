/** A running hash over the records of a journal: it covers each record and all before it. */
import type { Mark } from '../core/records/checkpoint.ts';
import { sha256 } from '../core/sha256.ts';

/** How many records of an earlier owner a later one may replace; older hashes are dropped. */
const mostTakenBack = 1000;

/** SHA-256, hex, of the hash before (empty for the first record) and the line without its end. */
export function linkOf(before: string, line: Buffer): string {
  const size = before.length + line.length;
  const bytes = size <= joined.length ? joined : Buffer.allocUnsafe(size);
  line.copy(bytes, bytes.write(before, 'latin1'));
  return sha256(bytes.subarray(0, size));
}

/** For the hash of a line and what is before it: a reader of a long journal needs no memory for each. */
const joined = Buffer.allocUnsafe(1 << 16);

/** Hashes a journal line by line, with the records that its readers count: a record of an earlier owner after one of a later
 *  owner is dropped; of two records with the same number the later owner's counts. */
export class LineChain {
  private links: { readonly seq: number; readonly epoch: number; readonly sha256: string }[] = [];
  private dropped = 0;

  /** `from`: what precedes the records to come. */
  constructor(from?: Mark & { readonly epoch: number }) {
    if (from === undefined || from.records === 0) return;
    this.links = [{ seq: from.records, epoch: from.epoch, sha256: from.sha256 }];
    this.dropped = from.records - 1;
  }

  /** Takes a record; false when it does not count. */
  add(line: Buffer, seq: number, epoch: number): boolean {
    let last = this.links.at(-1);
    if (last !== undefined && epoch < last.epoch) return false;
    while (last !== undefined && epoch > last.epoch && seq <= last.seq) {
      this.links.pop();
      last = this.links.at(-1);
    }
    const sha256 = linkOf(last?.sha256 ?? '', line);
    this.links.push({ seq, epoch, sha256 });
    if (this.links.length > 2 * mostTakenBack) {
      this.dropped += this.links.length - mostTakenBack;
      this.links = this.links.slice(-mostTakenBack);
    }
    return true;
  }

  /** Mark of all records so far; the hash of none is empty. */
  mark(): Mark {
    return { records: this.dropped + this.links.length, sha256: this.links.at(-1)?.sha256 ?? '' };
  }
}

/** JSON files that contain the hash of their text. */
const tail = /,\n {2}"sha256": "([0-9a-f]{64})"\n\}\n$/;

/** The text of `value` with two-space indent and a last field `sha256`, the hash of the text without it. As bytes, without
 *  copies: a text may be large. */
export function withOwnHash(value: object): Buffer {
  const text = JSON.stringify(value, null, 2);
  const size = Buffer.byteLength(text);
  const end = size - '\n}'.length;
  const bytes = Buffer.allocUnsafe(end + fieldOf(noHash).length);
  bytes.write(text);
  bytes.write(fieldOf(sha256(bytes.subarray(0, size))), end);
  return bytes;
}

/** The last field and the end of the text. */
const fieldOf = (hash: string): string => `,\n  "sha256": "${hash}"\n}\n`;
const noHash = '0'.repeat(64);

/** Checks a text of `withOwnHash`: its hash and the hash that it contains, both empty if it contains none. */
export function ownHashOf(text: string): { readonly is: string; readonly says: string } {
  const says = tail.exec(text)?.[1] ?? '';
  return says === '' ? { is: '', says } : { is: sha256(text.replace(tail, '\n}')), says };
}
