/** Every view, of runs in all states: usable by everybody, in light and dark, on a phone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inChromium, openPage, overflow, violations } from './chromium.ts';
import { type MadeServer, madeServer } from './made-server.ts';

const id = (at: number): string => `01M8000${at}ABCDEFGHJKMNPQRS`;
const [failed, suspended, running, completed, asking] = [id(0), id(1), id(3), id(4), id(8)];

/** Path, text that shows that the view is complete, keys to press first. */
const views: readonly (readonly [path: string, ready: string, ...keys: string[]])[] = [
  ['/', 'acceptance failed: totals.test'],
  ['/?only=attention', '4 of 12 runs', 'j'],
  ['/', 'Keyboard shortcuts', '?'],
  ['/new', 'This command does the same'],
  ['/queue', 'crashed twice in verify@2'],
  [`/runs/${failed}`, 'WO-02 used its 3 attempts'],
  [`/runs/${suspended}`, 'resumes at'],
  [`/runs/${asking}`, 'continues with ship'],
  [`/runs/${running}/nodes/verify`, 'ok 1'],
  [`/runs/${failed}/nodes/verify@2`, 'finds a broken anchor'],
  [`/runs/${completed}/nodes/plan`, 'The anchor is compared before it is decoded.'],
  [`/runs/${completed}/nodes/plan?show=prompt`, 'Propose the smallest change'],
  [`/runs/${completed}/nodes/propose?show=answer`, 'Reads links.'],
  [`/runs/${completed}/nodes/verify?show=changes`, 'logo.png'],
  [`/runs/${completed}/nodes/verify?show=context`, 'order.id'],
  [`/runs/${completed}/nodes/verify?show=files`, 'download'],
  [`/runs/${completed}/orders/WO-02`, 'attempt 2'],
  [`/runs/${completed}?tab=timeline`, 'Drag to zoom'],
  [`/runs/${completed}?tab=events`, 'npm test -- part 2'],
  [`/runs/${completed}?tab=changes`, 'logo.png'],
  [`/runs/${completed}?tab=evidence`, 'Not checked'],
  [`/runs/${completed}?tab=cost`, 'gpt-5.2'],
  ['/runs/01M89999ABCDEFGHJKMNPQRS', 'This run cannot be shown'],
];

inChromium('every view', (browser) => {
  let server: MadeServer;
  beforeAll(async () => {
    server = await madeServer({ runs: 12, events: 300, lines: 150 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.for(views)(
    '%s (%s) has no serious violation of accessibility in light and dark',
    async ([path, ready, ...keys]) => {
      await using page = await openPage(browser(), server.url + path, { colorScheme: 'light' });
      for (const key of keys) {
        await page.getByText('totals.test').first().waitFor();
        await page.keyboard.press(key);
      }
      await page.getByText(ready).first().waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await violations(page), colorScheme).toEqual([]);
      }
    },
  );

  test.for(['Deliver', 'Fork'])('the dialog "%s" has none either, and fits a phone', async (name) => {
    await using page = await openPage(browser(), `${server.url}/runs/${completed}`, {
      viewport: { width: 390, height: 800 },
    });
    await page.getByRole('button', { name: `${name}…` }).click();
    await page.getByRole('dialog').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  });

  test('no view scrolls sideways at 390 pixels', async () => {
    for (const [path, ready, ...keys] of views) {
      if (keys.length > 0) continue;
      await using page = await openPage(browser(), server.url + path, {
        viewport: { width: 390, height: 800 },
      });
      await page.getByText(ready).first().waitFor({ state: 'attached' });
      expect(await overflow(page), path).toBeLessThanOrEqual(0);
    }
  });

  test('the switch of colours is kept', async () => {
    await using page = await openPage(browser(), server.url, { colorScheme: 'dark' });
    const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const dark = await ground();
    await page.getByRole('button', { name: 'Switch to light' }).click();
    expect(await ground()).not.toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Switch to dark' }).waitFor();
    expect(await ground()).not.toBe(dark);
  });
});
