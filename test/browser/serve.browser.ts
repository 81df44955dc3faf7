/** The page of `factory serve`: a run of the main job from its start to its delivery, a restart of the server, an attacker's
 *  page. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { home } from '../support/cli.ts';
import { inChromium, openPage, overflow, violations } from './chromium.ts';
import { Serve, token } from './serve-process.ts';

const slow = { timeout: 90_000 };

inChromium('factory serve', (browser) => {
  test('the first run is started, watched and delivered on the page, through a restart of the server', async () => {
    await using it = await home({});
    const serve = new Serve(it.path);
    await using _ = { [Symbol.asyncDispose]: () => serve.stop() };
    await using page = await openPage(browser(), await serve.start());
    expect(page.url()).not.toContain(token);
    await page.getByText('factory run compile-and-build').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Run the demo' }).click();

    await page.getByRole('heading', { name: 'linkcheck' }).waitFor();
    await page.locator('.drawing [data-node]').first().waitFor();
    await page.getByRole('button', { name: 'Follow' }).click();
    await page.getByRole('region', { name: /Execution .+@\d+/ }).waitFor();
    await page.getByRole('button', { name: /done: WO-01/ }).waitFor(slow);

    await serve.stop();
    await page.getByText('No connection to the server').waitFor(slow);
    await serve.start();
    await page.getByText('No connection to the server').waitFor({ ...slow, state: 'detached' });
    await page.getByText('4 commits · proof holds · scenarios 4 of 4').waitFor(slow);
    await eventsWithoutGap(page);
    await deliver(page, join(it.path, 'product'));
    expect(existsSync(join(it.path, 'product', 'bin', 'linkcheck.js'))).toBe(true);

    await page.keyboard.press('g');
    await page.keyboard.press('r');
    await page.getByText('1 run', { exact: true }).waitFor();
    await page.getByRole('link', { name: /completed: 4 commits/ }).click();
    await page.getByRole('complementary').getByText('4 of 4', { exact: true }).waitFor();
  });

  test('a page whose token is not valid any more reports it, and continues with the new one', async () => {
    await using it = await home({});
    const serve = new Serve(it.path);
    await using _ = { [Symbol.asyncDispose]: () => serve.stop() };
    await using page = await openPage(browser(), await serve.start());
    await page.getByText('No runs yet').waitFor();
    await serve.stop();
    const url = await serve.start('another-token-0123456789');
    const bar = page.getByText('This browser has no access');
    await bar.waitFor(slow);
    // As another tab of the browser would: it shares the cookies.
    await page.request.get(url);
    await bar.waitFor({ ...slow, state: 'hidden' });
  });

  test('a page of another origin can neither read runs nor start one', async () => {
    await using it = await home({});
    const serve = new Serve(it.path);
    const attacker = createServer((_, response) => response.end('<!doctype html><title>attacker</title>'));
    await new Promise<void>((done) => attacker.listen(0, '127.0.0.1', done));
    await using _ = {
      async [Symbol.asyncDispose]() {
        attacker.close();
        await serve.stop();
      },
    };
    const url = await serve.start();
    await using page = await openPage(browser(), url);
    await page.getByText('No runs yet').waitFor();
    const { origin } = new URL(url);
    // In the browser of a user who has the cookie; another port is another origin, although of the same site.
    await page.goto(`http://127.0.0.1:${(attacker.address() as AddressInfo).port}/`);
    const tried = (init: object) =>
      page.evaluate(
        ([to, options]) =>
          fetch(`${to}/api/v1/runs`, options as RequestInit).then(
            (response) => `${response.type} ${response.status}`,
            (error: unknown) => String(error),
          ),
        [origin, init] as const,
      );
    const start = { method: 'POST', body: '{"pipeline":"compile-and-build"}', credentials: 'include' };
    expect(await tried({ credentials: 'include' })).toContain('Failed to fetch');
    expect(await tried({ ...start, headers: { 'Content-Type': 'application/json' } })).toContain(
      'Failed to fetch',
    );
    // This one reaches the server without a preflight request.
    expect(await tried({ ...start, mode: 'no-cors' })).toContain('Failed to fetch');
    await page.goto(origin);
    await page.getByText('No runs yet').waitFor();
    expect(existsSync(join(it.path, '.factory', 'runs'))).toBe(false);
  });

  test('branches that run are grouped and ask one by one, and a call is folded under its label', async () => {
    await using it = await home({
      'branches.dot': `digraph b { label="Two and a call"; start [shape=Mdiamond]; done [shape=Msquare]
        fan [shape=component]; one [shape=hexagon, prompt="Is one good?"]; two [shape=hexagon, prompt="Is two good?"]
        join [shape=tripleoctagon]; call [type=subgraph, graph_ref="child.dot", label="Look again"]
        start -> fan; fan -> one; fan -> two; one -> join [label="[Y] Yes"]; two -> join [label="[Y] Yes"]
        join -> call -> done }`,
      'child.dot': `digraph c { start [shape=Mdiamond]; done [shape=Msquare]
        look [shape=parallelogram, tool_command="echo seen"]; start -> look -> done }`,
    });
    const serve = new Serve(it.path);
    await using _ = { [Symbol.asyncDispose]: () => serve.stop() };
    const url = new URL(await serve.start());
    const started = await fetch(new URL('/api/v1/runs', url), {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ pipeline: 'branches.dot' }),
    });
    const { run_id } = (await started.json()) as { run_id: string };
    await using page = await openPage(browser(), `${url.origin}/runs/${run_id}${url.search}`);
    await page.getByText('Is one good?', { exact: true }).waitFor(slow);
    await page.getByText('Is two good?', { exact: true }).waitFor(slow);
    expect(await page.locator('.branch-card').count()).toBe(2);
    await page.locator('.drawing [data-node="two"]').waitFor(slow);
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await overflow(page)).toBe(0);
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const left of [1, 0]) {
      await page.getByRole('button', { name: 'Yes' }).first().click();
      await expect.poll(() => page.getByRole('button', { name: 'Yes' }).count(), slow).toBe(left);
    }
    await page.getByRole('button', { name: 'Whole' }).click();
    await page.locator('.drawing [data-node="call"][data-state="success"]').waitFor(slow);
    expect(await page.getByText('call.look').count()).toBe(0);
    await opensByKeys(page);
    await page
      .getByRole('button', { name: /Look again/ })
      .first()
      .click();
    await page.getByText('call.look').first().waitFor();
  });
});

/** The map opens what is folded without a mouse, and shows the last lines of what it points at. */
async function opensByKeys(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Look again: success/ }).focus();
  await page.keyboard.press('Enter');
  await page.locator('.drawing [data-fold="call"]').waitFor(slow);
  // What has opened may reach out of view, where nothing is drawn.
  await page.getByRole('button', { name: 'Whole' }).click();
  await page.locator('.drawing [data-node="call.look"]').waitFor(slow);
  await page.getByRole('link', { name: /^look: success/ }).focus();
  await page.locator('.map-hint').getByText('seen', { exact: true }).waitFor(slow);
  expect(await violations(page)).toEqual([]);
  await page.locator('.drawing [data-edge][data-to="call"] .hit').first().dispatchEvent('click');
  await page.locator('.map-hint').getByRole('link', { name: 'join@1' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.drawing [data-fold="call"] .details').click();
  await page.locator('.drawing [data-opens="call"]').waitFor(slow);
}

/** The events of a run have every `seq` once, although the stream was interrupted. */
async function eventsWithoutGap(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Events' }).click();
  const said = (await page.getByText(/^\d+ events$/).textContent()) ?? '';
  await page.getByRole('region', { name: 'Events' }).press('End');
  await page.getByText('run completed').waitFor();
  expect(await page.locator('.event-row .seq').last().textContent()).toBe(String(Number.parseInt(said, 10)));
}

async function deliver(page: Page, to: string): Promise<void> {
  await page.getByRole('button', { name: 'Deliver…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('A new repository').check();
  await dialog.getByLabel('New or empty directory').fill(to);
  await dialog.getByText(`--to ${to}`).waitFor();
  await dialog.getByRole('button', { name: 'Deliver', exact: true }).click();
  await dialog.getByText('4 commits are on').waitFor(slow);
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
}
