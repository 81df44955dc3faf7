import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseCanaries } from '../../src/holdout/leak-scan.ts';
import { harbour, judge, mit, roster, sealed } from './sealed-fixture.ts';

const canaries = chooseCanaries(judge).chosen();
const line = 'if ! grep -q "kittiwake berthed at quay 4821" "$tmp/out.txt"; then';
const number = harbour.split('\n').indexOf(line) + 1;
const json = (value: unknown) => JSON.stringify(value);
const utf16 = (text: string) => Buffer.from(text, 'utf16le');

/** The header of a zip archive. */
function zipEntry(name: string, text: string): Buffer {
  const head = Buffer.alloc(30);
  head.write('PK\x03\x04', 'latin1');
  head.writeUInt16LE(8, 8);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, Buffer.from(name), deflateRawSync(text)]);
}

const carried: readonly (readonly [string, string | Buffer])[] = [
  ['unchanged', `some\n${line}\nmore`],
  ['indented', `def f():\n\t\t    ${line}`],
  ['as a line of a diff', `@@ -1 +1 @@\n+${line}\n-x`],
  ['quoted in a mail', `> > ${line}`],
  ['with a number before it', `  12\t${line}`],
  ['with other blanks', line.replaceAll(' ', '   ')],
  ['broken over two lines', line.replace(' at ', ' at\n    ')],
  ['with the line ends of Windows', `a\r\n${line}\r\nb`],
  ['in a JSON text', json({ content: harbour })],
  ['in a JSON text in a JSON text', json({ event: json({ content: harbour }) })],
  [
    'in a JSON text that escapes all but ASCII',
    json(line).replace(/[<>&"]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  ],
  ['in a shell string', `x="${line.replaceAll('"', '\\"')}"`],
  ['in a comment', `// ${line}`],
  ['in a URL', `https://x.test/?q=${encodeURIComponent(line)}`],
  ['in a form', new URLSearchParams({ q: line }).toString()],
  ['in base64', Buffer.from(line).toString('base64')],
  ['in base64 that begins elsewhere', Buffer.from(`ab${line}`).toString('base64url')],
  ['in base64 over several lines', Buffer.from(harbour).toString('base64').replace(/.{76}/g, '$&\n')],
  ...(
    [
      ['in short lines', '$&\n'],
      ['as a sum of texts', '$&" +\n  "'],
      ['as a list of texts', "$&',\n      '"],
      ['as comments', '$&\n// '],
      ['as comments of a script', '$&\n# '],
      ['in quotes in a JSON text', '$&\\"\\n  \\"'],
    ] as const
  ).map(([how, ends]): [string, string] => [
    `in base64 ${how}`,
    `"${Buffer.from(harbour).toString('base64').replace(/.{22}/g, ends)}"`,
  ]),
  [
    'in base64 in a JSON text',
    json({ data: Buffer.from(harbour).toString('base64').replace(/.{60}/g, '$&\r\n') }),
  ],
  ['in base64 behind letters', `xyz${Buffer.from(harbour).toString('base64')}`],
  ['in capital letters', line.toUpperCase()],
  ['in a comment, broken over two lines', `# ${line.replace(' at ', ' at\n# ')}`],
  ['as two texts that are added', line.replace(' at ', ' at" +\n  "')],
  ['in a URL in a URL', encodeURIComponent(encodeURIComponent(line))],
  ['in base64 of base64', Buffer.from(Buffer.from(line).toString('base64')).toString('base64')],
  ['in UTF-16', utf16(`x ${line} y`)],
  ['in gzip', gzipSync(harbour)],
  ['in an object of git', deflateSync(`blob ${harbour.length}\0${harbour}`)],
  ['in a pack, behind other bytes', Buffer.concat([Buffer.from('PACK\0x\x9c'), deflateSync(harbour)])],
  ['in gzip that is cut', gzipSync(`${harbour}${'x'.repeat(9999)}`).subarray(0, -12)],
  ['in an archive', zipEntry('judge.sh', harbour)],
];

test.for(carried)('a holdout line is found %s', ([, text]) => {
  expect(canaries.find(text).map(({ file, line }) => [file, line])).toContainEqual([1, number]);
});

test('a sighting has the line number in the holdout and in the text', () => {
  const [seen] = canaries.find(`a\nb\n  ${line}\n`);
  expect(seen).toEqual({ file: 1, line: number, at: 3, marked: false });
});

test.for([
  ['in a sentence', 'I saw zx81-blue there'],
  ['in capitals, with other signs', 'ZX81_BLUE'],
  ['in base64', Buffer.from('zx81-blue').toString('base64')],
  ['in a JSON text', '{"a":"\\"zx81-blue\\""}'],
] as const)('a marked canary is found %s, although it is short', ([, text]) => {
  expect(canaries.find(text)).toMatchObject([{ file: 1, marked: true }]);
});

test.for([
  ['#', ''],
  ['//', ''],
  ['/*', ' */'],
  ['<!--', ' -->'],
  ['--', ''],
  ['"""', '"""'],
  ['% ', ''],
] as const)('a marker counts in a comment that begins with %s', ([open, close]) => {
  const files = [sealed('a', `x\n${open} canary: q7-violet${close}\n`)];
  const found = chooseCanaries(files).chosen();
  expect(found.size).toBe(1);
  expect(found.find('q7-violet')).toMatchObject([{ file: 0, line: 2, marked: true }]);
});

test('a marker of less than eight characters is ignored', () => {
  expect(chooseCanaries([sealed('a', '# canary: seven77\n')]).chosen().size).toBe(0);
});

test('a marked canary in another script is found', () => {
  const found = chooseCanaries([sealed('a', '# canary: синяя цапля\n')]).chosen();
  expect(found.find('она видела: «синяя цапля»')).toMatchObject([{ line: 1, marked: true }]);
  expect(found.find('она видела: «серая цапля»')).toEqual([]);
});

test('a holdout line is found in lower case, unless it was known in some case', () => {
  const text = 'The Harbour Master counts nine Kittiwakes before Breakfast';
  const found = (known: string) => {
    const choosing = chooseCanaries([sealed('a', `${text}\n`)]);
    choosing.known(Buffer.from(known));
    return choosing.chosen().find(`> ${text.toLowerCase()}`);
  };
  expect(found('')).toHaveLength(1);
  for (const known of [text, text.toLowerCase(), text.toUpperCase()]) expect(found(known)).toEqual([]);
});

test('a line of the workspace or the spec is no canary, unless it is marked', () => {
  const choosing = chooseCanaries(judge);
  choosing.known(Buffer.from(`The spec says:\n\n    ${line}\n\nand zx81-blue`));
  const found = choosing.chosen();
  expect(found.find(line)).toEqual([]);
  expect(found.find('zx81-blue')).toHaveLength(1);
  expect(found.find(roster)).not.toEqual([]);
});

test.for([
  ['a shebang', '#!/usr/bin/env -S node --experimental-strip-types --no-warnings'],
  ['the settings of a shell', 'set -euo pipefail -o errtrace -o functrace'],
  ['where a script lies', 'SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)"'],
  ['what a script leaves', `trap 'rm -rf "$tmpdir" "$logfile"' EXIT INT TERM`],
  ['a usage', 'if [ "$#" -ne 1 ]; then echo "usage: $0 APP_DIR" >&2; exit 2; fi'],
  ['an import', 'import { describe, expect, it, beforeEach, afterEach } from "vitest";'],
  [
    'a call of a program',
    'result = subprocess.run([sys.executable, "-m", "app", *args], capture_output=True, text=True)',
  ],
  ['a check of it', 'self.assertEqual(result.returncode, 0, result.stderr)'],
  ['the end of a Python program', 'if __name__ == "__main__": raise SystemExit(main())'],
  // Ordinary text of the product.
  // Text that the leak detector must not take for a canary; no linter reads it.
  ['a setting of a linter', '# eslint-disable-next-line @typescript-eslint/no-unsafe-member-access'],
  ['a rule', '# ----------------------------------------------------------------'],
  ['brackets', '}}}}]]]]))))}}}}]]]]))))}}}}'],
  ['a schema', '"$schema": "https://json-schema.org/draft/2020-12/schema",'],
  ['filler', 'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod'],
] as const)('%s is no canary', ([, text]) => {
  expect(chooseCanaries([sealed('s', `x\n${text}\ny\n`)]).chosen().size).toBe(0);
});

test.for(['#', '//', ' *', '--', ''])('a licence behind "%s" is no canary', (sign) => {
  const files = [sealed('a.sh', `#!/bin/sh\n${mit(sign)}\n`), sealed('LICENSE', mit(''))];
  const own = sign === '' ? files.slice(1) : files;
  expect(chooseCanaries(own).chosen().size).toBe(0);
});

test('links, folders and binary files have no canaries', () => {
  const content = Buffer.from(line);
  const files = [
    { path: 'l', kind: 'link', mode: 0o777, content },
    { path: 'd', kind: 'dir', mode: 0o755, content: Buffer.alloc(0) },
    sealed('b', Buffer.concat([Buffer.from([0]), content])),
  ] as const;
  expect(chooseCanaries(files).chosen().size).toBe(0);
});

test('a text of ten megabytes is searched once, to its end', () => {
  const text = `${'const ship = fleet[index] ?? { name: "gull", quay: 12 };\n'.repeat(180_000)}${line}\n`;
  expect(canaries.find(text)).toMatchObject([{ line: number, at: 180_001 }]);
});

test('a line is found anywhere in any text, however it is indented', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('', ' ', '\t', '\n+ '),
      (a, b, gap) => {
        // Preceding hex digits, or an entity, would merge with it.
        const text = `${a}\n${gap}${line.split(' ').join(` ${gap === '\n+ ' ? '' : gap}`)}\n${b}`;
        expect(canaries.find(text).some(({ line: at }) => at === number)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test('in a data file with very many lines, a sample at equal distances are canaries', () => {
  const rows = Array.from({ length: 20_000 }, (_, n) => `kittiwake ${n} moored, gannet ${n * 7919} fledged`);
  const found = chooseCanaries([sealed('rows.txt', rows.join('\n'))]).chosen();
  expect(found.size).toBe(2000);
  expect(found.find(rows.slice(5000, 5010).join('\n'))).toHaveLength(1);
});
