/** What lies compressed in bytes: gzip, zlib (as in objects and packs of git) and the entries of zip archives. */
import { constants, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';

/** Bytes of what one stream holds, and of all together; streams that are tried. */
const mostOfStream = 32 * 1024 * 1024;
const mostOfAll = 128 * 1024 * 1024;
const mostTried = 20_000;

/** Gzip with deflate; the usual four heads of zlib; an entry of a zip archive. One character a byte. */
const heads = /\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]|PK\x03\x04/g;

/** All streams one after the other, each apart; undefined where there is none. `letters` are the bytes as latin1. */
export function inflated(bytes: Buffer, letters: string): Buffer | undefined {
  const found: Buffer[] = [];
  let size = 0;
  let tried = 0;
  for (const { index, 0: head } of letters.matchAll(heads)) {
    if (tried++ >= mostTried || size >= mostOfAll) break;
    const stream = streamAt(bytes.subarray(index), head);
    if (stream === undefined || stream.length === 0) continue;
    size += stream.length;
    found.push(stream, Buffer.from('\n~\n'));
  }
  return found.length === 0 ? undefined : Buffer.concat(found);
}

/** What the stream says as far as it goes: one that is cut counts too. */
function streamAt(bytes: Buffer, head: string): Buffer | undefined {
  const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: mostOfStream };
  try {
    if (head.startsWith('\x78')) return inflateSync(bytes, options);
    if (!head.startsWith('PK')) return gunzipSync(bytes, options);
    if (bytes.length < 30 || bytes.readUInt16LE(8) !== 8) return undefined;
    return inflateRawSync(bytes.subarray(30 + bytes.readUInt16LE(26) + bytes.readUInt16LE(28)), options);
  } catch {
    // It only looked like one.
    return undefined;
  }
}
