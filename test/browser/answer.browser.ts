/** A question of a run on the page: with keys and buttons, and when another answer was first. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inChromium, openPage } from './chromium.ts';
import { type MadeServer, madeServer } from './made-server.ts';

inChromium('a question', (browser) => {
  let server: MadeServer;
  beforeAll(async () => {
    server = await madeServer({ runs: 12, events: 30, lines: 10 });
  });
  afterAll(() => server[Symbol.asyncDispose]());
  const asking = () => `/runs/${server.rows.find(({ question }) => question !== null)?.run_id}`;
  const path = () => `/api/v1${asking()}/answer`;

  test('its row is marked in the list, and the row opens it', async () => {
    await using page = await openPage(browser(), server.url);
    const row = page.getByRole('link', { name: 'needs an answer: Ship it?' });
    await row.click();
    await page.getByRole('complementary').getByText('continues with ship').waitFor();
    await row.dblclick();
    await page.waitForURL(`**${asking()}`);
    await page.getByRole('region', { name: 'Question' }).getByText('After verify: success').waitFor();
  });

  test('the key of an option selects it, Enter answers under the name that the browser keeps', async () => {
    await using page = await openPage(browser(), server.url + asking());
    await page.getByLabel('Your name').fill('Grace');
    await page.getByLabel('Your name').blur();
    await page.keyboard.press('r');
    expect(server.asked).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('Answered.').waitFor();
    expect(server.asked.splice(0)).toEqual([
      { path: path(), body: { question: 'gate@2', choice: 'R', by: 'Grace' } },
    ]);
    await page.reload();
    expect(await page.getByLabel('Your name').inputValue()).toBe('Grace');
    await page.getByLabel('Or answer with a text').fill('Use less ink');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Answered.').waitFor();
    expect(server.asked.splice(0)).toMatchObject([{ body: { question: 'gate@2', text: 'Use less ink' } }]);
  });

  test('who comes second reads who was first', async () => {
    await using page = await openPage(browser(), server.url + asking());
    await page.getByRole('button', { name: 'Approve' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'ada answered first: Request changes' });
    await alert.waitFor();
    server.asked.splice(0);
  });

  test('a note to the next agent is given under the same name', async () => {
    await using page = await openPage(browser(), server.url + asking());
    await page.getByText('Notes to agents').click();
    const form = page.locator('details');
    await page.getByLabel('Your name').fill('Grace');
    await form.getByLabel('Note to the next agent').fill('Use less ink');
    await form.getByRole('button', { name: 'Give the note' }).click();
    await page.getByText('Note 1 waits for the next agent.').waitFor();
    expect(server.asked.splice(0)).toEqual([
      { path: path().replace(/answer$/, 'steer'), body: { text: 'Use less ink', by: 'Grace' } },
    ]);
  });
});
