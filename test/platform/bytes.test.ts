/** Bytes are read of plain files alone, and written to none that is there. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashFile, pour, readSmall } from '../../src/platform/files/bytes.ts';
import { make, tempFolder } from '../workspace/folders.ts';

test('a link that took a file’s place is not read through, whatever it leads to', async () => {
  await using it = tempFolder();
  make(it.path, { secret: 'secret', link: { link: 'secret' } });
  const link = join(it.path, 'link');
  expect(() => readSmall(link)).toThrow('ELOOP');
  await expect(hashFile(link)).rejects.toThrow('ELOOP');
  await expect(pour(link, join(it.path, 'copy'), { mode: 0o600 })).rejects.toThrow('ELOOP');
  expect(readdirSync(it.path)).toEqual(['link', 'secret']);
});

test('a file that is there already is neither written over nor removed', async () => {
  await using it = tempFolder();
  make(it.path, { from: 'from', to: 'another’s' });
  await expect(pour(join(it.path, 'from'), join(it.path, 'to'), { mode: 0o600 })).rejects.toThrow('EEXIST');
  expect(readFileSync(join(it.path, 'to'), 'utf8')).toBe('another’s');
});

test.runIf(process.platform === 'linux')('what the disk says while a file is read names it', async () => {
  // The system’s own file that opens, and that cannot be read from its beginning.
  const path = '/proc/self/mem';
  await expect(hashFile(path)).rejects.toMatchObject({ code: 'EIO', path });
});
