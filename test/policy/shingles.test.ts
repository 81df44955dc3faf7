import { expect, test } from 'vitest';
import { shinglesOf } from '../../src/policy/shingles.ts';
import { harbour, judge, mit, picture, roster, sealed } from './sealed-fixture.ts';

const shingles = shinglesOf(judge).cut();
const lines = harbour.split('\n');
const from = lines.findIndex((line) => line.startsWith('printf'));
const five = lines.slice(from, from + 5);
const files = (text: string | Buffer) => shingles.find(text).map(({ file }) => file);

test.for([
  ['as they are', five.join('\n')],
  ['indented', five.map((line) => `\t    ${line}`).join('\n')],
  ['with blank lines between', five.join('\n\n\n')],
  ['with brackets between', five.join('\n}\n')],
  ['in a comment', five.map((line) => `// ${line}`).join('\n')],
  ['in a block comment', five.map((line) => ` * ${line}`).join('\n')],
  ['as a diff', five.map((line) => `+${line}`).join('\n')],
  ['numbered', five.map((line, at) => `  ${at + 1} | ${line}`).join('\n')],
  ['numbered as cat does', five.map((line, at) => `     ${at + 1}\t${line}`).join('\n')],
  ['quoted', five.map((line) => `> ${line}`).join('\r\n')],
  ['as a list of texts', five.map((line) => `  ${JSON.stringify(line)},`).join('\n')],
  ['in a JSON text', JSON.stringify({ a: five.join('\n') })],
  ['in a JSON text in a JSON text', JSON.stringify(JSON.stringify({ a: five.join('\r\n') }))],
  ['in base64', Buffer.from(five.join('\n')).toString('base64')],
  ['in hex', Buffer.from(five.join('\n')).toString('hex')],
  ['in a URL', encodeURIComponent(five.join('\n'))],
] as const)('five lines of the judge are found %s', ([, text]) => {
  expect(files(`def f():\n${text}\nx = 1\n`)).toEqual([1]);
});

test('a copy says where it begins, here and there, and how long it is', () => {
  const more = lines.slice(from, from + 7).join('\n');
  expect(shingles.find(`a\nb\n${more}\nc`)).toEqual([
    { file: 1, line: from + 1, at: 3, lines: 7, spelling: 'plain' },
  ]);
});

test('four lines are no copy, and five that are not in a row are none', () => {
  expect(files(five.slice(0, 4).join('\n'))).toEqual([]);
  expect(files(five.join('\nsomething of another kind\n'))).toEqual([]);
});

test.for(['#', '//', ' *', '--', ';', ''])('a licence behind "%s" that both have is nobody’s', (sign) => {
  expect(files(`${mit(sign)}\n`)).toEqual([]);
  expect(
    shinglesOf([sealed('LICENSE', mit(sign)), sealed('a.c', `/*\n${mit(' *')}\n */\n`)]).cut().size,
  ).toBe(0);
});

test('what the workspace had at the start does not count', () => {
  const cutting = shinglesOf(judge);
  cutting.known(Buffer.from(roster.replaceAll('\n', '\r\n')));
  const left = cutting.cut();
  expect(left.find(roster)).toEqual([]);
  expect(left.find(five.join('\n'))).toHaveLength(1);
});

test('the beginning that scripts of a house share is nobody’s', () => {
  const usual = `#!/usr/bin/env bash
set -euo pipefail
here=$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ $# -ne 1 ]; then
  echo "usage: $0 APP_DIR" >&2
  exit 2
fi
app=$1
cd "$app"
`;
  expect(
    shinglesOf([sealed('a.sh', usual)])
      .cut()
      .find(usual),
  ).toEqual([]);
});

test.for([
  ['whole', picture, 1280],
  ['in base64', Buffer.from(picture.toString('base64')), 1280],
  ['in part, somewhere else', Buffer.concat([Buffer.alloc(77, 7), picture.subarray(100, 900)]), 768],
] as const)('a binary file is found %s', ([, bytes, size]) => {
  expect(shingles.find(bytes)).toMatchObject([{ file: 2, line: 0, lines: size }]);
});

test('a few bytes that two binary files share are no copy', () => {
  expect(files(Buffer.concat([picture.subarray(0, 64), Buffer.alloc(500, 3)]))).toEqual([]);
});
