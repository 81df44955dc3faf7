import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parseFiles } from '../../src/builder/syntax.ts';
import { outputOf } from '../../src/platform/process/run-sync.ts';

const hasPython = outputOf('python3', ['-c', 'print(1)'], { input: '', timeoutMs: 10_000 }) !== '';

async function report(files: Record<string, string>, notes: string | null = null) {
  const folder = await mkdtemp(join(tmpdir(), 'syntax-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return await parseFiles(folder, Object.keys(files), { notes, env: { PATH: process.env['PATH'] ?? '' } });
  } finally {
    await rm(folder, { recursive: true });
  }
}

test.for([
  ['a.mjs', 'export const a = ;', /^a\.mjs: not valid JavaScript: .*\(1:17\)/],
  ['a.cjs', "import x from 'x';", /^a\.cjs: not valid JavaScript/],
  ['a.js', 'function f( {', /^a\.js: not valid JavaScript/],
  ['a.json', '{"a": 1,}', /^a\.json: not valid JSON/],
  ['a.json', '', /^a\.json: not valid JSON/],
  ['a.sh', 'if true; then\n', /^a\.sh: not valid bash: .*line 2/],
  ['-x.sh', '#!/bin/sh\necho "', /^-x\.sh: not valid bash/],
])('a broken %s is reported with its place: %s', async ([path = '', text = '', why]) => {
  const { broken } = await report({ [path as string]: text as string });
  expect(broken).toEqual([expect.stringMatching(why as RegExp)]);
});

test.skipIf(!hasPython)('a broken Python file is reported with its line', async () => {
  const { broken } = await report({ 'a.py': 'x = 1\ndef broken(:\n', 'b.py': '\uFEFFx = 1\n' });
  expect(broken).toEqual([expect.stringMatching(/^a\.py: not valid Python 3\.\d+: .* \(line 2\)$/)]);
});

test('a file that parses is neither broken nor unparsed', async () => {
  const files = {
    'a.mjs': '#!/usr/bin/env node\nconst a = await 1; export default a;',
    'a.cjs': "if (!process.argv[2]) return;\nconst x = require('x');",
    'a.js': "import x from 'x'; export const less = (a, b) => a < b && b > 1;",
    'b.js': 'module.exports = 1;',
    'a.json': '\uFEFF{"a": "// text"}',
    'a.sh': 'set -u\necho "$1"',
  };
  expect(await report(files)).toEqual({ broken: [], unparsed: [] });
});

test('files whose syntax is not known for certain are listed, not refused', async () => {
  const files = {
    'a.js': 'export const A = () => <div>{1}</div>;',
    'README.md': '```js\nlet = ',
    'tsconfig.base.json': '{ /* x */ }',
    '.vscode/settings.json': '{ "a": 1, }',
    'b.json': '{\n  // a comment\n  "a": 1\n}',
    'a.ts': 'let x: = 1',
    'z.sh': '#!/bin/zsh\necho ${(f)x}\nif [[ ]',
  };
  expect(await report(files)).toEqual({ broken: [], unparsed: Object.keys(files).sort() });
});

test('a line of the notes exempts a file that is broken on purpose', async () => {
  const files = { 'fixtures/bad.json': '{', 'other.json': '{' };
  const { broken, unparsed } = await report(files, 'A fixture.\nunparsed: fixtures/bad.json\n');
  expect(broken).toEqual([expect.stringContaining('other.json')]);
  expect(unparsed).toEqual(['fixtures/bad.json']);
});
