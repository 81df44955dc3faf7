import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { inflated } from '../../src/policy/inflated.ts';

const text = Buffer.from('what was packed');
const zipHead = Buffer.alloc(30);
zipHead.write('PK\x03\x04', 'latin1');
zipHead.writeUInt16LE(8, 8);
const namedHead = Buffer.from(zipHead);
namedHead.writeUInt16LE('a.txt'.length, 26);
namedHead.writeUInt16LE('more'.length, 28);

test.for([
  ['gzip', gzipSync(text)],
  ['zlib', deflateSync(text)],
  ['zlib in haste', deflateSync(text, { level: 1 })],
  ['zlib with some care', deflateSync(text, { level: 3 })],
  ['zlib with all care', deflateSync(text, { level: 9 })],
  ['an entry of a zip archive', Buffer.concat([zipHead, deflateRawSync(text)])],
  [
    'an entry with a name and more',
    Buffer.concat([namedHead, Buffer.from('a.txtmore'), deflateRawSync(text)]),
  ],
] as const)('%s is unpacked by every Node, also by 22.0 to 22.2, which lend no module', ([, packed]) => {
  vi.stubGlobal('process', { ...process, getBuiltinModule: undefined });
  try {
    const bytes = Buffer.concat([Buffer.from('before it '), packed]);
    expect(inflated(bytes, bytes.toString('latin1'))?.toString()).toBe('what was packed\n~\n');
  } finally {
    vi.unstubAllGlobals();
  }
});
