/** Finds many sequences of bytes in a long one, in one pass however many they are: a rolling hash over a window, and a
 *  comparison where it is one that a needle begins with. */

export interface Needles {
  /** Each needle that occurs, by its number in the list given, with where it first does. */
  find(bytes: Uint8Array): { readonly needle: number; readonly at: number }[];
}

const base = 0x01000193;
const filterBits = 20;

/** All needles must have `window` bytes or more. */
export function needlesOf(needles: readonly Uint8Array[], window: number): Needles {
  let top = 1;
  for (let i = 0; i < window; i++) top = Math.imul(top, base);
  const filter = new Uint8Array(1 << (filterBits - 3));
  const byHash = new Map<number, number[]>();
  for (const [number, needle] of needles.entries()) {
    let hash = 0;
    for (let i = 0; i < window; i++) hash = (Math.imul(hash, base) + (needle[i] ?? 0)) | 0;
    const same = byHash.get(hash);
    if (same === undefined) byHash.set(hash, [number]);
    else same.push(number);
    const bit = slot(hash);
    filter[bit >> 3] = (filter[bit >> 3] ?? 0) | (1 << (bit & 7));
  }
  return {
    find(bytes) {
      if (needles.length === 0 || bytes.length < window) return [];
      const found = new Map<number, number>();
      let hash = 0;
      for (let i = 0; i < bytes.length; i++) {
        hash = (Math.imul(hash, base) + (bytes[i] ?? 0)) | 0;
        if (i >= window) hash = (hash - Math.imul(top, bytes[i - window] ?? 0)) | 0;
        if (i < window - 1) continue;
        const bit = slot(hash);
        if (((filter[bit >> 3] ?? 0) & (1 << (bit & 7))) === 0) continue;
        for (const needle of byHash.get(hash) ?? []) {
          const at = i + 1 - window;
          if (!found.has(needle) && standsAt(bytes, at, needles[needle])) found.set(needle, at);
        }
      }
      return [...found].map(([needle, at]) => ({ needle, at }));
    },
  };
}

const slot = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> (32 - filterBits);

function standsAt(bytes: Uint8Array, at: number, needle: Uint8Array | undefined): boolean {
  if (needle === undefined || at + needle.length > bytes.length) return false;
  for (let i = 0; i < needle.length; i++) if (bytes[at + i] !== needle[i]) return false;
  return true;
}
