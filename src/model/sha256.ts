import { hash } from 'node:crypto';

/** SHA-256, hex, of bytes or of a text's UTF-8: in one call, since the setting up of a hash takes longer than most of
 *  what we hash. */
export const sha256 = (data: string | Uint8Array): string => hash('sha256', data, 'hex');
