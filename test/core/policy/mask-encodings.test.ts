/** A secret is masked however a program spells it, and wherever the stream is cut. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { masker, maskStream } from '../../../src/core/policy/mask.ts';

const secret = fc
  .string({
    unit: fc.oneof(fc.constantFrom(...'aZ09+/=-_ "\\&%<é'), fc.string({ minLength: 1, maxLength: 1 })),
    minLength: 8,
    maxLength: 40,
  })
  .filter((text) => text.trim() === text && Buffer.byteLength(text) >= 8 && text.length >= 8);
const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 30 });

function streamed(text: string, values: readonly string[], sizes: readonly number[]): string {
  const bytes = Buffer.from(text);
  const mask = maskStream(values);
  const out: Buffer[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    out.push(mask.push(bytes.subarray(at, at + size)));
    at = Math.min(at + size, bytes.length);
  }
  return Buffer.concat([...out, mask.end()]).toString();
}

test('in base64 of any alignment and alphabet no character stays that the secret alone decides', () => {
  fc.assert(
    fc.property(
      secret,
      fc.string({ unit: fc.constantFrom('.', '#'), maxLength: 100 }),
      fc.string({ unit: fc.constantFrom('.', '#'), maxLength: 5 }),
      fc.constantFrom('base64' as const, 'base64url' as const),
      cuts,
      (value, before, after, alphabet, sizes) => {
        const whole = Buffer.from(before + value + after).toString(alphabet);
        const from = Math.ceil((before.length * 8) / 6);
        const to = Math.floor(((before.length + Buffer.byteLength(value)) * 8) / 6);
        const shown = streamed(`> ${whole} <`, [value], sizes);
        expect(shown).toBe(`> ${whole.slice(0, from)}***${whole.slice(to)} <`);
      },
    ),
    { numRuns: 300 },
  );
});

/** Half a character has no UTF-8. */
const wellFormed = (value: string) => Buffer.from(value).toString();
const inUnicode = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const lowerCase = (text: string) => text.replace(/%../g, (code) => code.toLowerCase());
const inForm = (value: string) => new URLSearchParams({ v: value }).toString().slice(2);
test.for<[name: string, spell: (value: string) => string]>([
  ['unchanged', (value) => value],
  ['in a JSON text', (value) => JSON.stringify(value).slice(1, -1)],
  ['in a JSON text within a JSON text', (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3)],
  [
    'in a JSON text of ASCII',
    (value) =>
      JSON.stringify(value)
        .slice(1, -1)
        .replace(/[\u0080-\uffff]/g, inUnicode),
  ],
  [
    'in a JSON text that may be part of a page',
    (value) => JSON.stringify(value).slice(1, -1).replace(/[&<>]/g, inUnicode),
  ],
  ['URL-encoded', encodeURIComponent],
  ['URL-encoded in lower case', (value) => lowerCase(encodeURIComponent(value))],
  ['URL-encoded as in a form', inForm],
  ['URL-encoded as in a path', (value) => encodeURIComponent(value).replaceAll('%2F', '/')],
])('%s', ([, spell]) => {
  fc.assert(
    fc.property(secret, cuts, (value, sizes) => {
      const spelled = spell(wellFormed(value));
      const text = `say: ${spelled}; and ${spelled}.`;
      expect(streamed(text, [wellFormed(value)], sizes)).toBe('say: ***; and ***.');
      expect(masker([wellFormed(value)])(text)).toBe('say: ***; and ***.');
    }),
  );
});

test('of a value with several lines each line is masked by itself, but not what encloses a key', () => {
  const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----';
  const hide = masker([key]);
  expect(hide(`1: MIIEvQIBADANBgkq\n2: hkiG9w0BAQEFAASC\n`)).toBe('1: ***\n2: ***\n');
  expect(hide('-----BEGIN PRIVATE KEY-----\n…')).toBe('-----BEGIN PRIVATE KEY-----\n…');
  for (const whole of [
    key,
    JSON.stringify(key).slice(1, -1),
    Buffer.from(key).toString('base64').replace(/.=+$/, ''),
  ])
    expect(hide(`<${whole}>`)).toBe('<***>');
});

test('ordinary text passes untouched, and at once except for the beginning of a secret', () => {
  const words = fc.array(
    fc.constantFrom('const', 'deadbeef', '0x1f', '%20', 'YWJj', '\n', '{"a":1}', 'é', '\\n', '==='),
    {
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(words, cuts, (parts, sizes) => {
      const text = parts.join(' ');
      expect(streamed(text, ['sk-7f3Qz81LmN0pXw', 'hunter2-hunter2'], sizes)).toBe(text);
    }),
  );
  const stream = maskStream(['sk-7f3Qz81LmN0pXw']);
  expect(stream.push(Buffer.from('{"type":"item"}\n')).toString()).toBe('{"type":"item"}\n');
});

test('what is held back stays small, however long the input is', () => {
  const stream = maskStream(['sk-7f3Qz81LmN0pXw']);
  const chunk = Buffer.from(Buffer.from('some text, sk-7f3Qz8').toString('base64').repeat(50));
  let held = 0;
  for (let n = 0; n < 200; n++) held += chunk.length - stream.push(chunk).length;
  expect(held).toBeLessThan(100);
});

test('cut anywhere, parts of several spellings give what single bytes give', () => {
  const values = ['sk-7f3Qz81LmN0pXw', 'hunter2/é"hunter2'];
  const spelled = values.flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    Buffer.from(`x${value}`).toString('base64'),
  ]);
  const piece = fc.oneof(
    fc.constantFrom(...spelled),
    fc.tuple(fc.constantFrom(...spelled), fc.nat(40), fc.nat(40)).map(([text, a, b]) => text.slice(a, a + b)),
    fc.constantFrom('%', '\\', '\n', ' ', '%7', '%73', 's', 'c', '6', 'hu', 'plain text'),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), cuts, (pieces, sizes) => {
      const text = pieces.join('');
      const single = streamed(
        text,
        values,
        [...Buffer.from(text)].map(() => 1),
      );
      expect(streamed(text, values, [])).toBe(single);
      expect(streamed(text, values, sizes)).toBe(single);
    }),
    { numRuns: 300 },
  );
});
