/** The queue on the page: what needs a person, acts on jobs, and what an unused one shows. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { madeQueue } from '../support/queue-report.ts';
import { inChromium, openPage, overflow, violations } from './chromium.ts';
import { type MadeServer, madeServer } from './made-server.ts';

inChromium('the queue', (browser) => {
  let server: MadeServer;
  beforeAll(async () => {
    server = await madeServer({ runs: 12, events: 30, lines: 10 });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('every page says how many jobs need a person, and leads to them', async () => {
    await using page = await openPage(browser(), server.url);
    await page.getByRole('link', { name: 'Queue 3 jobs need a person' }).click();
    await page.waitForURL('**/queue');
    await page.getByRole('heading', { name: 'Needs a person 3' }).waitFor();
    await page.getByRole('link', { name: 'link checker' }).click();
    await page.waitForURL('**/runs/01M80001ABCDEFGHJKMNPQRS');
  });

  test('a held job is released by its button, and changed in a dialog that shows the command', async () => {
    await using page = await openPage(browser(), `${server.url}/queue`);
    await page.getByRole('button', { name: 'Release importer' }).click();
    await expect
      .poll(() => server.asked.splice(0))
      .toEqual([{ path: '/api/v1/queue/01M80002ABCDEFGHJKMNPQRS/move', body: { to: 'now' } }]);
    await page.getByRole('button', { name: 'Change… invoice export' }).click();
    await page.getByLabel('Set its priority').check();
    await page.getByLabel('Priority, from').fill('7');
    await page.getByText('factory queue move 01M80040ABCDEFGHJKMNPQRS --priority 7').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(server.asked.splice(0)).toEqual([
      { path: '/api/v1/queue/01M80040ABCDEFGHJKMNPQRS/move', body: { priority: 7 } },
    ]);
  });

  test('j and k walk through the jobs, and Enter opens the run', async () => {
    await using page = await openPage(browser(), `${server.url}/queue`);
    await page.getByText('crashed twice in verify@2').waitFor();
    for (const key of ['j', 'j', 'j', 'Enter']) await page.keyboard.press(key);
    await page.waitForURL('**/runs/01M80002ABCDEFGHJKMNPQRS');
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    await page.waitForURL('**/queue');
  });

  test('a queue that was never used shows the two commands that use it', async () => {
    const empty = { jobs: [], workers: [], schedules: [], holds: [], caps: [] };
    const counts = { running: 0, waiting: 0, later: 0, held: 0, needs_person: 0, needs_person_later: 0 };
    await using unused = await madeServer({ runs: 0, events: 0, lines: 0 }, () => ({
      ...madeQueue(Date.now()),
      ...{ ...empty, counts },
    }));
    await using page = await openPage(browser(), `${unused.url}/queue`, {
      viewport: { width: 390, height: 800 },
    });
    await page.getByText('factory submit my-spec.md').waitFor();
    await page.getByText('factory keep --slots 2').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  });
});
