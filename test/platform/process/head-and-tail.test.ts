import fc from 'fast-check';
import { expect, test } from 'vitest';
import { headAndTail } from '../../../src/platform/process/outputs.ts';

/** The stream cut into chunks of the given lengths, through the keeper. */
function kept(stream: Buffer, lengths: readonly number[], most: number): Buffer {
  const keeper = headAndTail(most);
  const out: Buffer[] = [];
  let at = 0;
  for (const length of [...lengths, stream.length]) {
    out.push(Buffer.from(keeper.push(stream.subarray(at, at + length))));
    at += length;
  }
  return Buffer.concat([...out, keeper.end()]);
}

const streams = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.nat(60), { maxLength: 20 });

test('a stream within the limit stays unchanged, however it is divided', () => {
  fc.assert(
    fc.property(streams, cuts, fc.nat(200), (stream, lengths, more) => {
      expect(kept(stream, lengths, stream.length + more).equals(stream)).toBe(true);
      expect(kept(stream, lengths, Number.POSITIVE_INFINITY).equals(stream)).toBe(true);
    }),
  );
});

test('of a longer stream head and tail are kept, and the note counts the bytes between', () => {
  fc.assert(
    fc.property(streams, cuts, fc.nat(399), (stream, lengths, most) => {
      fc.pre(most < stream.length);
      const tail = Math.floor(most / 4);
      const out = stream.length - most;
      const note = `\n[… ${out} bytes left out: more than ${most} bytes were written …]\n`;
      const wanted = Buffer.concat([
        stream.subarray(0, most - tail),
        Buffer.from(note),
        stream.subarray(stream.length - tail),
      ]);
      expect(kept(stream, lengths, most).equals(wanted)).toBe(true);
    }),
  );
});
