/** JSON files that contain the hash of their text. */
import { sha256 } from '../model/sha256.ts';

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
