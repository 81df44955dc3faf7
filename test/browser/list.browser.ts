/** The list of many runs: only what is in view is drawn, and it is used as if all of it were. */
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inChromium, openPage, violations } from './chromium.ts';
import { type MadeServer, madeServer } from './made-server.ts';

const pictures = process.env['FACTORY_TEST_PICTURES'];

inChromium('a list of 10,000 runs', (browser) => {
  let server: MadeServer;
  beforeAll(async () => {
    server = await madeServer({ runs: 10_000, events: 10, lines: 10 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  async function opened() {
    const page = await openPage(browser(), server.url);
    await page.getByText('10000 runs', { exact: true }).waitFor();
    return page;
  }
  const drawn = (page: Page) => page.locator('.run-row').count();
  const focused = (page: Page) =>
    page.evaluate<string>("document.activeElement?.getAttribute('data-row') ?? 'none'");
  const scroll = (page: Page, to: string) => page.evaluate(`scrollTo(0, ${to})`);
  const scrolled = (page: Page) => page.evaluate<number>('scrollY');
  const top = (row: Locator) => row.evaluate((is) => is.getBoundingClientRect().top);
  const picture = async (page: Page, name: string) => {
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${name}.png`) });
  };

  test('only the rows around what is in view are drawn, wherever one scrolls to', async () => {
    await using page = await opened();
    await page.getByText('acceptance failed: totals.test').waitFor();
    expect(await drawn(page)).toBeLessThan(100);
    await picture(page, 'list-top');
    await scroll(page, 'document.documentElement.scrollHeight / 2');
    await expect.poll(() => page.locator('.run-row').nth(5).isVisible()).toBe(true);
    expect(await drawn(page)).toBeLessThan(100);
    await picture(page, 'list-middle');
    await page.keyboard.press('End');
    const last = page.locator('.seen-rows').last().locator('li').last();
    await expect.poll(() => last.getAttribute('aria-posinset')).toBe(await last.getAttribute('aria-setsize'));
    await expect.poll(() => last.isVisible()).toBe(true);
    expect(await drawn(page)).toBeLessThan(100);
    expect(await violations(page)).toEqual([]);
    await picture(page, 'list-end');
  });

  test('the keys move through rows that are not drawn yet, and the focus stays when its row is out of view', async () => {
    await using page = await opened();
    for (let at = 0; at < 60; at++) await page.keyboard.press('j');
    const run = await focused(page);
    expect(run).toMatch(/^01M8/);
    const row = page.locator(`[data-row="${run}"]`);
    await expect.poll(() => top(row)).toBeLessThan(800 - 28);
    expect(await row.getAttribute('aria-current')).toBe('true');
    await scroll(page, '100_000');
    await expect.poll(() => scrolled(page)).toBe(100_000);
    expect(await focused(page)).toBe(run);
    await page.keyboard.press('k');
    await expect.poll(() => scrolled(page)).toBeLessThan(5000);
    expect(await focused(page)).not.toBe(run);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toContain('/runs/01M8');
  });

  test('a search finds runs of all pages, and takes one to the top', async () => {
    await using page = await opened();
    const id = '01M89876ABCDEFGHJKMNPQRS';
    await page.keyboard.press('/');
    await page.keyboard.type('01m89876');
    await page.getByText('1 of 10000 runs').waitFor();
    expect(await page.locator('.run-row[data-row]').getAttribute('data-row')).toBe(id);
    await page.keyboard.press('Escape');
    await page.getByText('10000 runs', { exact: true }).waitFor();
    await page.locator('.choices').getByText('failed').click();
    await page.getByText(/of 10000 runs/).waitFor();
    expect(await drawn(page)).toBeLessThan(100);
  });

  test('what is read stays where it is when runs come and go above it', async () => {
    await using page = await opened();
    await scroll(page, '50_000');
    await expect.poll(() => page.locator('.run-row').nth(20).isVisible()).toBe(true);
    const row = page.locator('.run-row').nth(30);
    const id = await row.getAttribute('data-row');
    const before = await top(row);
    const [plain, failed] = [server.rows[4], server.rows[0]];
    for (let at = 0; at < 5; at++) server.tell('run', { ...failed, run_id: `01N000${at}`, ended_at: null });
    server.tell('run', { ...plain, run_id: '01N1', ended_at: new Date().toISOString() });
    server.tell('gone', { run_id: server.rows[20]?.run_id });
    await page.getByText('10005 runs', { exact: true }).waitFor({ state: 'attached' });
    await expect.poll(() => top(page.locator(`[data-row="${id}"]`))).toBe(before);
  });

  test('a window as narrow as that of a phone draws higher rows, and scrolls to the last one', async () => {
    await using page = await openPage(browser(), server.url, { viewport: { width: 390, height: 800 } });
    await page.getByText('10000 runs', { exact: true }).waitFor();
    await picture(page, 'list-phone');
    await page.keyboard.press('End');
    const last = page.locator('.seen-rows').last().locator('li').last();
    await expect.poll(() => last.getAttribute('aria-posinset')).toBe(await last.getAttribute('aria-setsize'));
    expect(await drawn(page)).toBeLessThan(80);
  });
});
