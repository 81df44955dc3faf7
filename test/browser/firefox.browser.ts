/** The main path in Firefox, by WebDriver BiDi: the demo is started with the form, watched to its end and looked at. */
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { describe, expect, test } from 'vitest';
import { home } from '../support/cli.ts';
import { Serve } from './serve-process.ts';

const program = [
  process.env['FACTORY_FIREFOX'],
  ...['firefox-esr', 'firefox'].flatMap((name) =>
    (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)),
  ),
].find((path) => path !== undefined && path !== '' && existsSync(path));

/** Milliseconds: the demo works on a machine that others use. */
const slow = 90_000;

const missing = 'no Firefox on this machine (install firefox-esr, or set FACTORY_FIREFOX to its path)';

describe.skipIf(program === undefined)(program === undefined ? missing : 'Firefox', () => {
  test('a run of the demo is started with the form, watched to its end, and its evidence is read', async () => {
    await using it = await home({});
    const serve = new Serve(it.path);
    await using _ = { [Symbol.asyncDispose]: () => serve.stop() };
    await using firefox = await opened(it.path);
    const { page, reported } = firefox;
    await page.goto(await serve.start());
    await click(page, 'a[href="/new"].button:not(.primary)');
    await page.waitForSelector('.start select');
    await page.select('.start select', 'compile-and-build');
    await seen(page, 'cli.js run compile-and-build');
    await seen(page, 'No findings.');
    await click(page, 'button[type=submit].primary');

    await page.waitForSelector('.drawing [data-node="plan"]', { timeout: slow });
    expect(new URL(page.url()).pathname).toMatch(/^\/runs\/\w{26}$/);
    await seen(page, 'scenarios 4 of 4', slow);
    await click(page, '[role=tab][href*="evidence"]');
    await seen(page, 'bin/linkcheck.js');
    expect(reported).toEqual([]);
  });
});

/** A page that lists what it reports: errors, and what the content-security policy refused. */
async function opened(
  folder: string,
): Promise<{ readonly page: Page; readonly reported: string[] } & AsyncDisposable> {
  const userDataDir = join(folder, 'firefox');
  mkdirSync(userDataDir);
  const browser: Browser = await puppeteer.launch({
    ...{ browser: 'firefox', executablePath: program ?? '', headless: true, userDataDir },
    env: { ...process.env, HOME: folder, MOZ_HEADLESS: '1' },
  });
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  const reported: string[] = [];
  page.on('pageerror', (error) => reported.push(String(error)));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) reported.push(message.text());
  });
  return { page, reported, [Symbol.asyncDispose]: () => browser.close() };
}

/** Waits until the page shows the text. */
const seen = async (page: Page, text: string, timeout = 30_000): Promise<unknown> =>
  page.waitForFunction(`document.body.innerText.replace(/\\s+/g, ' ').includes(${JSON.stringify(text)})`, {
    timeout,
  });

async function click(page: Page, selector: string): Promise<void> {
  await page.locator(selector).setTimeout(30_000).click();
}
