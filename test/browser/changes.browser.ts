/** The changes of a run, in Chromium: halves, keys, and texts of models that stay texts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inChromium, openPage } from './chromium.ts';
import { type MadeServer, madeServer } from './made-server.ts';
import { madeChanges } from './runs.ts';

const hostile = '<img src=x onerror="document.title=1"><b>';
const [first] = madeChanges.files;
if (first === undefined) throw new Error('no file');
/** 60,000 new lines, as an agent writes them when it copies a data file. */
const long = `@@ -0,0 +1,60000 @@\n${Array.from({ length: 60_000 }, (_, at) => `+export const x${at} = "${hostile}";\n`).join('')}`;
const files = [
  { ...first, cut: false },
  {
    ...first,
    path: 'src/x.ts',
    patch: `@@ -1,1 +1,1 @@\n-const a = '${hostile}';\n+const b = '${hostile}';\n`,
  },
  { ...first, path: 'src/z.ts', what: 'created' as const, patch: long, added: 60_000, removed: 0 },
];

inChromium('changes', (browser) => {
  let server: MadeServer;
  beforeAll(async () => {
    server = await madeServer({ runs: 5, events: 10, lines: 5, changes: { ...madeChanges, files } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('halves are of equal width, keys go from change to change, and no text becomes an element', async () => {
    await using page = await openPage(
      browser(),
      `${server.url}/runs/01M80004ABCDEFGHJKMNPQRS?tab=changes#file=src%2Fx.ts`,
    );
    const focused = () =>
      page.evaluate(`document.activeElement.closest('.file-diff')?.querySelector('.path').textContent`);
    await page.locator('[data-file]').first().waitFor();
    expect(await focused()).toBe('src/x.ts');
    await page.getByRole('button', { name: 'Side by side' }).click();
    await page.locator('.split .hljs-keyword').first().waitFor();
    const widths = (await page.evaluate(
      `[...document.querySelector('.split tr:last-child').cells].map((cell) => cell.offsetWidth)`,
    )) as number[];
    expect(Math.abs((widths[1] ?? 0) - (widths[3] ?? 0))).toBeLessThanOrEqual(1);
    await page.locator('[data-file="src/x.ts"]').focus();
    await page.keyboard.press('n');
    expect(await page.evaluate(`document.activeElement.className`)).toBe('piece');
    await page.keyboard.press('P');
    await page.keyboard.press('P');
    expect(await focused()).toBe('src/links.js');
    expect(await page.locator('.changes img, .changes b').count()).toBe(0);
    expect(await page.locator('[aria-label="Diff of src/x.ts"] .word').first().textContent()).toBe('a');
  });

  test('of a diff of 60,000 lines only what is seen is drawn', async () => {
    await using page = await openPage(browser(), `${server.url}/runs/01M80004ABCDEFGHJKMNPQRS?tab=changes`);
    await page.getByText('src/z.ts').click();
    await page.locator('[aria-label="Diff of src/z.ts"] .hljs-keyword').first().waitFor();
    expect(await page.locator('.patch tr').count()).toBeLessThan(2000);
  });
});
