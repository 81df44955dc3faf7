/** JSON files that carry the hash of their own text, so that nothing in them changes unseen. */
import { sha256 } from '../model/sha256.ts';

const tail = /,\n {2}"sha256": "([0-9a-f]{64})"\n\}\n$/;

/** The text of `value` with two-space indent, its last field `sha256` that of the text without it. */
export function withOwnHash(value: object): string {
  const text = JSON.stringify(value, null, 2);
  return `${text.slice(0, -2)},\n  "sha256": "${sha256(text)}"\n}\n`;
}

/** Whether a text is as `withOwnHash` made it: what its hash is and what it says, both empty where it says none. */
export function ownHashOf(text: string): { readonly is: string; readonly says: string } {
  const says = tail.exec(text)?.[1] ?? '';
  return says === '' ? { is: '', says } : { is: sha256(text.replace(tail, '\n}')), says };
}
