import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maskStream } from '../../../src/core/policy/mask.ts';

/** What masking means, said slowly: bytes of any occurrence go, each run of overlapping occurrences leaves `***`. */
function slowly(text: Buffer, values: readonly string[]): string {
  const found: [number, number][] = [];
  for (const value of new Set(values)) {
    for (let at = 0; value !== '' && at < text.length; at++) {
      const needle = Buffer.from(value);
      if (text.subarray(at, at + needle.length).equals(needle)) found.push([at, at + needle.length]);
    }
  }
  found.sort(([a, aEnd], [b, bEnd]) => a - b || bEnd - aEnd);
  let out = '';
  let at = 0;
  for (const [start, end] of found) {
    if (start >= at) out += `${text.toString('latin1', at, start)}***`;
    at = Math.max(at, end);
  }
  return out + text.toString('latin1', at);
}

function masked(chunks: readonly Uint8Array[], values: readonly string[]): string {
  const masker = maskStream(values);
  return Buffer.concat([...chunks.map((chunk) => masker.push(chunk)), masker.end()]).toString('latin1');
}

const few = (most: number) => fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: most });

test('masking a stream gives the same however the stream is cut', () => {
  fc.assert(
    fc.property(
      few(60),
      fc.array(few(6), { maxLength: 4 }),
      fc.array(fc.nat(60), { maxLength: 8 }),
      (text, values, cuts) => {
        const bytes = Buffer.from(text);
        const places = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
          bytes.length,
        ];
        const chunks = places.slice(1).map((end, n) => bytes.subarray(places[n], end));
        expect(masked(chunks, values)).toBe(slowly(bytes, values));
      },
    ),
    { numRuns: 500 },
  );
});

test.for([
  { name: 'one byte at a time', text: 'say hunter2hunter2!', values: ['hunter2'], gives: 'say ******!' },
  {
    name: 'no part of either of two that overlap is left',
    text: 'xabcdefx',
    values: ['abcd', 'cdef'],
    gives: 'x***x',
  },
  {
    name: 'the longer of two that begin alike',
    text: 'secret-token secret',
    values: ['secret', 'secret-token'],
    gives: '*** ***',
  },
  {
    name: 'a beginning that comes to nothing is given back',
    text: 'hunter',
    values: ['hunter2'],
    gives: 'hunter',
  },
  { name: 'an empty value counts for nothing', text: 'abc', values: [''], gives: 'abc' },
])('masked: $name', ({ text, values, gives }) => {
  expect(
    masked(
      [...Buffer.from(text)].map((byte) => Uint8Array.of(byte)),
      values,
    ),
  ).toBe(gives);
});

test('bytes that are no UTF-8 pass unharmed, and a value beyond ASCII is found across a cut character', () => {
  const bytes = Buffer.concat([Buffer.from([0xff, 0x00]), Buffer.from('pässwörd'), Buffer.from([0xfe])]);
  expect(masked([bytes.subarray(0, 4), bytes.subarray(4)], ['pässwörd'])).toBe('\xff\x00***\xfe');
});
