/** Chromium for the tests of the page, and what they check on every view. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';

const program = [
  process.env['FACTORY_CHROMIUM'],
  ...['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) =>
    (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)),
  ),
].find((path) => path !== undefined && path !== '' && existsSync(path));

/** Tests that get a browser; skipped with the reason where there is none. */
export function inChromium(title: string, tests: (browser: () => Browser) => void): void {
  if (program === undefined) {
    describe.skip(`${title}: no Chromium on this machine (install it, or set FACTORY_CHROMIUM to its path)`, () =>
      tests(() => {
        throw new Error('skipped');
      }));
    return;
  }
  describe(title, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: program,
        // Chromium has no sandbox for root.
        args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
      });
    });
    afterAll(() => browser?.close());
    tests(() => {
      if (browser === undefined) throw new Error('the browser did not start');
      return browser;
    });
  });
}

/** A page that fails the test by what it reports: errors, and what the content-security policy refused. */
export async function openPage(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<Page & AsyncDisposable> {
  const page = await browser.newPage({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  const reported: string[] = [];
  page.on('pageerror', (error) => reported.push(error.stack ?? error.message));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) reported.push(message.text());
  });
  await page.goto(url);
  return Object.assign(page, {
    [Symbol.asyncDispose]: async () => {
      await page.close();
      expect(reported).toEqual([]);
    },
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Violations that hinder people: serious and critical ones, each with the elements. */
export async function violations(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger: the page's policy holds for scripts of the page only.
  await page.evaluate(axe);
  const found = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as {
    id: string;
    impact: string;
    nodes: { html: string; failureSummary: string }[];
  }[];
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
    );
}

/** Pixels by which the page is wider than its window. */
export const overflow = (page: Page): Promise<unknown> =>
  page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
