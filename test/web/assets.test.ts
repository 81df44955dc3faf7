/** The files of the page, and how a browser gets them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { afterAll, expect, test } from 'vitest';
import { answerAsset, readAssets } from '../../src/web/assets.ts';
import { boundHeaders } from '../../src/web/security.ts';

const folder = mkdtempSync(join(tmpdir(), 'factory-page-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const text = 'export const a = 1;\n'.repeat(100);
for (const name of ['app.js', 'part-ABCD1234.js']) {
  writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, `${name}.gz`), gzipSync(text));
}
writeFileSync(join(folder, 'icon.svg'), '<svg/>');
writeFileSync(join(folder, 'index.html'), '<!doctype html>');

const page = readAssets(folder);
const app = new Hono().use('*', boundHeaders).get('*', (c) => answerAsset(page, c));
const ask = (path: string, headers: Record<string, string> = {}) => app.request(path, { headers });
const plain = (encoding: string | null, bytes: Buffer): string =>
  (encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString();

test.each([
  ['gzip, deflate, br, zstd', 'gzip'],
  ['gzip, deflate', 'gzip'],
  ['GZIP;q=0.5', 'gzip'],
  ['br, zstd', null],
  ['deflate', null],
  ['gzip;q=0', null],
  ['*', null],
  ['', null],
])('a client that reads "%s" gets %s', async (accepted, encoding) => {
  const answer = await ask('/app.js', accepted === '' ? {} : { 'Accept-Encoding': accepted });
  expect(answer.headers.get('Content-Encoding')).toBe(encoding);
  expect(answer.headers.get('Content-Type')).toBe('text/javascript; charset=utf-8');
  expect(answer.headers.get('Vary')).toBe('Accept-Encoding');
  expect(plain(encoding, Buffer.from(await answer.arrayBuffer()))).toBe(text);
});

test('each form of a file has its own tag, by which it is not sent again', async () => {
  const forms = ['gzip', 'identity'];
  const tags = await Promise.all(
    forms.map(async (one) => String((await ask('/app.js', { 'Accept-Encoding': one })).headers.get('ETag'))),
  );
  expect(new Set(tags).size).toBe(2);
  const [gzip = '', plainTag = ''] = tags;
  const again = async (known: string) =>
    (await ask('/app.js', { 'Accept-Encoding': 'gzip', 'If-None-Match': known })).status;
  expect(await Promise.all([gzip, `"x", W/${gzip}`, plainTag].map(again))).toEqual([304, 304, 200]);
});

test('only a file whose name changes with its content is kept without asking', async () => {
  const rule = async (path: string) => (await ask(path)).headers.get('Cache-Control');
  expect(await rule('/part-ABCD1234.js')).toBe('public, max-age=31536000, immutable');
  for (const path of ['/', '/app.js', '/icon.svg', '/runs/x']) expect(await rule(path)).toBe('no-cache');
});

test('parts of the page are bound by the headers of the page', async () => {
  const { headers } = await ask('/part-ABCD1234.js', { 'Accept-Encoding': 'gzip' });
  expect(headers.get('Content-Security-Policy')).toContain("script-src 'self'");
  expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
});
