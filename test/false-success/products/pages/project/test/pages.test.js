import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const folder = mkdtempSync(join(tmpdir(), 'pages-'));
const out = join(folder, 'out');
const pages = (source) => spawnSync('node', ['bin/pages.js', source, out], { encoding: 'utf8' });

test('two notes', () => {
  writeFileSync(join(folder, 'a.md'), '# First\n\nSee [the other](b.md).\n');
  writeFileSync(join(folder, 'b.md'), '# Second\n\nOne line\nand another.\n');
  assert.equal(pages(folder).stdout, '2 pages\n');
  assert.match(readFileSync(join(out, 'a.html'), 'utf8'), /<p>See <a href="b.html">the other<\/a>.<\/p>/);
  assert.match(readFileSync(join(out, 'b.html'), 'utf8'), /<h1>Second<\/h1>\n<p>One line and another.<\/p>/);
});

test('the index', () => {
  assert.match(readFileSync(join(out, 'index.html'), 'utf8'), /<li><a href="a.html">First<\/a><\/li>/);
});

test('no folder', () => {
  assert.equal(pages(join(folder, 'none')).status, 2);
});
