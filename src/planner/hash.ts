/** The hashes that identify plans and work orders. */
import { createHash } from 'node:crypto';

export { asciiJson, canonicalHash } from '../model/canonical.ts';

/** Identifies the inputs of a plan: the first 16 hex digits of the SHA-256 of spec, template, model and reasoning effort,
 *  joined by line feeds. */
export function compileHash(from: {
  spec: Uint8Array;
  template: Uint8Array;
  model: string;
  effort: string;
}): string {
  const hash = createHash('sha256').update(from.spec).update('\n').update(from.template);
  return hash.update(`\n${from.model}\n${from.effort}`).digest('hex').slice(0, 16);
}
