import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test, vi } from 'vitest';
import { inflated } from '../../src/policy/inflated.ts';

const text = Buffer.from('what was packed');
const zipHead = Buffer.alloc(30);
zipHead.write('PK\x03\x04', 'latin1');
zipHead.writeUInt16LE(8, 8);

test.for([
  ['gzip', gzipSync(text)],
  ['zlib', deflateSync(text)],
  ['an entry of a zip archive', Buffer.concat([zipHead, deflateRawSync(text)])],
] as const)('%s is unpacked by every Node, also by 22.0 to 22.2, which lend no module', ([, packed]) => {
  vi.stubGlobal('process', { ...process, getBuiltinModule: undefined });
  try {
    const bytes = Buffer.concat([Buffer.from('before it '), packed]);
    expect(inflated(bytes, bytes.toString('latin1'))?.toString()).toBe('what was packed\n~\n');
  } finally {
    vi.unstubAllGlobals();
  }
});
