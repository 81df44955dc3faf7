/** A secret is masked however a program spells it, and wherever the stream is cut. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { masker } from '../../src/policy/secrets.ts';
import { maskStream } from '../../src/system/mask.ts';

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

/** Lines of `columns` characters. */
const wrapped = (text: string, columns: number, end: string) =>
  text.replace(new RegExp(`.{${columns}}(?=.)`, 'g'), (line) => `${line}${end}`);

test('in base64 of any alignment, alphabet and width no character stays that the secret alone decides', () => {
  const ends = fc.constantFrom('\n', '\r\n', '\n    ', '\\n');
  const widths = fc.constantFrom(76, 64, 10);
  fc.assert(
    fc.property(
      secret,
      fc.string({ unit: fc.constantFrom('.', '#'), maxLength: 100 }),
      fc.string({ unit: fc.constantFrom('.', '#'), maxLength: 5 }),
      fc.constantFrom('base64' as const, 'base64url' as const),
      fc.option(fc.tuple(widths, ends)),
      cuts,
      (value, before, after, alphabet, lines, sizes) => {
        const whole = Buffer.from(before + value + after).toString(alphabet);
        const from = Math.ceil((before.length * 8) / 6);
        const to = Math.floor(((before.length + Buffer.byteLength(value)) * 8) / 6);
        const text = lines === null ? whole : wrapped(whole, ...lines);
        const shown = streamed(`> ${text} <`, [value], sizes);
        const joined = shown.replaceAll(/\\n|\s/g, '');
        expect(joined).toBe(`>${whole.slice(0, from)}***${whole.slice(to)}<`);
      },
    ),
    { numRuns: 300 },
  );
});

/** Half a character has no UTF-8. */
const wellFormed = (value: string) => Buffer.from(value).toString();
const inUnicode = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
const upTo = (text: string, hex: (bytes: Buffer) => string) => hex(Buffer.from(text));
test.for<[name: string, spell: (value: string) => string]>([
  ['as it is', (value) => value],
  ['in a JSON text', (value) => JSON.stringify(value).slice(1, -1)],
  ['in a JSON text within a JSON text', (value) => JSON.stringify(JSON.stringify(value)).slice(3, -3)],
  [
    'in a JSON text of ASCII',
    (value) =>
      JSON.stringify(value)
        .slice(1, -1)
        .replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`),
  ],
  // As Go, as PHP and Python's templates, as .NET write it; and as one might who means to hide it.
  ...[/[&<>]/g, /[&<>']/g].map((which): [string, (value: string) => string] => [
    `in a JSON text with ${which.source} escaped`,
    (value) => JSON.stringify(value).slice(1, -1).replace(which, inUnicode),
  ]),
  [
    'in a JSON text that escapes more than it must',
    (value) =>
      value
        .replaceAll('\\', '\\\\')
        .replace(/["&'<>+`\u0000-\u001f\u0080-\uffff]/g, (c) => inUnicode(c).toUpperCase().replace('U', 'u')),
  ],
  ['in escapes of Unicode', (value) => value.replace(/[\s\S]/g, inUnicode)],
  ['URL-encoded', encodeURIComponent],
  [
    'URL-encoded in lower case',
    (value) => encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase()),
  ],
  ['URL-encoded as in a form', (value) => new URLSearchParams({ v: value }).toString().slice(2)],
  [
    'with every byte URL-encoded',
    (value) => upTo(value, (bytes) => bytes.toString('hex').replace(/../g, '%$&')),
  ],
  ['in hex', (value) => upTo(value, (bytes) => bytes.toString('hex'))],
  ['in upper-case hex', (value) => upTo(value, (bytes) => bytes.toString('hex').toUpperCase())],
  ['in hex with colons', (value) => upTo(value, (bytes) => bytes.toString('hex').replace(/..(?=.)/g, '$&:'))],
  ['in escapes of hex', (value) => upTo(value, (bytes) => bytes.toString('hex').replace(/../g, '\\x$&'))],
])('%s', ([, spell]) => {
  fc.assert(
    fc.property(secret, cuts, (value, sizes) => {
      const spelled = spell(wellFormed(value));
      const shown = streamed(`say: ${spelled}; and ${spelled}.`, [wellFormed(value)], sizes);
      // A leading escape sign stands before what was decoded.
      expect(shown.replaceAll('\\x***', '***')).toBe('say: ***; and ***.');
      expect(masker([wellFormed(value)])(`say: ${spelled}.`).replace('\\x***', '***')).toBe('say: ***.');
    }),
  );
});

test('ordinary text passes untouched, and at once but for what may begin a secret', () => {
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

test('bytes that are passed over at once hide nothing: whole chunks give what single bytes give', () => {
  const values = ['sk-7f3Qz81LmN0pXw', 'hunter2/é"hunter2'];
  const spelled = values.flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    Buffer.from(value).toString('hex'),
    wrapped(Buffer.from(`x${value}`).toString('base64'), 5, '\n'),
    wrapped(Buffer.from(value).toString('base64url'), 1, ' \\n '),
    Buffer.from(value).toString('hex').replace(/../g, '%$&'),
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
