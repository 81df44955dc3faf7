import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readPlainBytes } from '../../../src/platform/files/read.ts';
import { temp } from '../temp.ts';

test('a file of more bytes than are wanted is not read, or no further where its beginning will do', async () => {
  await using it = await temp();
  writeFileSync(it.at('a'), 'abcdef');
  expect(readPlainBytes(it.at('a'), 4).kind).toBe('none');
  expect(readPlainBytes(it.at('a'), 4, 'cut')).toEqual({ kind: 'text', text: Buffer.from('abcd') });
  expect(readPlainBytes(it.at('a'), 6, 'cut')).toEqual({ kind: 'text', text: Buffer.from('abcdef') });
});
