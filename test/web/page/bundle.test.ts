/** The built page: run `npm run build` first. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../../dist/page');
const html = readFileSync(join(folder, 'index.html'), 'utf8');
const first = [...html.matchAll(/(?:href|src)="\/([^"]+)"/g)].map(([, name = '']) => name);

/** As a browser gets it that reads gzip and nothing shorter. */
function bytesOverTheWire(name: string): number {
  const path = join(folder, name);
  return statSync(existsSync(`${path}.gz`) ? `${path}.gz` : path).size;
}

test('the page loads at most 80 kB, compressed, before its first view', () => {
  const sizes = ['index.html', ...first].map(bytesOverTheWire);
  expect(sizes.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(80_000);
});

test('the page names every file that its script needs, so that a browser asks for all together', () => {
  const needed = new Set<string>();
  const addImportsOf = (name: string): void => {
    if (needed.has(name)) return;
    needed.add(name);
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, other = ''] of text.matchAll(/\bimport(?:[^"'()]*?from)?"\.\/([^"]+)"/g))
      addImportsOf(other);
  };
  addImportsOf('app.js');
  expect([...needed].filter((name) => !first.includes(name))).toEqual([]);
  expect(needed.size).toBeGreaterThan(1);
});

test('the page needs no inline script or style and nothing from elsewhere', () => {
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map((found) => found[1] ?? '');
  expect(addresses.length).toBeGreaterThan(1);
  for (const address of addresses) expect(address).toMatch(/^\/[a-z]/);
  expect(readFileSync(join(folder, 'app.css'), 'utf8')).not.toMatch(/url\((?!["']?data:)|@import/);
});
