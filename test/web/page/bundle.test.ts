/** The built page: run `npm run build` first. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../../dist/page');
const files = readdirSync(folder);

test('the page is at most 150 kB gzipped', () => {
  const bytes = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
  expect(bytes).toBeLessThan(150_000);
});

test('the page needs no inline script or style and nothing from elsewhere', () => {
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((found) => found[1] ?? '');
  expect(addresses.length).toBeGreaterThan(1);
  for (const address of addresses) expect(address).toMatch(/^\/[a-z]/);
  expect(readFileSync(join(folder, 'app.css'), 'utf8')).not.toMatch(/url\((?!["']?data:)|@import/);
});
