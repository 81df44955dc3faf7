/** `npm run pictures`: the pictures in the documentation, of a real run of the main pipeline with its prepared answers. That of
 *  the page needs Chromium (`FACTORY_CHROMIUM`, or `chromium` on the PATH). */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';

const root = join(import.meta.dirname, '..');
const docs = join(root, 'docs');
const scratch = mkdtempSync(join(tmpdir(), 'factory-pictures-'));
// Names that the pictures show.
const folder = join(scratch, 'my-project');
const bin = join(scratch, 'bin');
const cli = join(root, 'dist/cli.js');
const options = { cwd: folder, env: { PATH: `${bin}${delimiter}${process.env.PATH}`, HOME: folder } };
const factory = (...words) =>
  execFileSync(process.execPath, [cli, ...words], { ...options, stdio: ['ignore', 'inherit', 'pipe'] });

/** Each makes its files in `docs` from the run `demo` in `folder`. */
const pictures = [
  () => factory('graph', 'demo', '-o', join(docs, 'run.svg')),
  () => factory('graph', 'demo', '--timeline', '-o', join(docs, 'run-timeline.svg')),
  () => pageOf('/runs/demo/orders/WO-02', join(docs, 'page.png')),
];

try {
  for (const made of [folder, bin]) mkdirSync(made);
  symlinkSync(cli, join(bin, 'factory'));
  factory('run', 'compile-and-build', '--run-id', 'demo');
  for (const make of pictures) await make();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Puts a picture of a view of `factory serve` into `file`. */
async function pageOf(view, file) {
  const executablePath = [
    process.env.FACTORY_CHROMIUM,
    ...process.env.PATH.split(delimiter).map((path) => join(path, 'chromium')),
  ].find((path) => path && existsSync(path));
  if (executablePath === undefined) return console.warn(`no Chromium: ${file} is left unchanged`);
  const server = spawn(process.execPath, [cli, 'serve', '--port', '0'], options);
  const browser = await chromium.launch({
    executablePath,
    // Chromium has no sandbox for root.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    const [printed] = await once(server.stdout, 'data');
    const url = new URL(String(printed).split('\n')[0]);
    const page = await browser.newPage({
      viewport: { width: 1280, height: 720 },
      colorScheme: 'light',
      reducedMotion: 'reduce',
    });
    await page.goto(url.href);
    await page.goto(url.origin + view);
    await page.locator('.drawing [data-node]').first().waitFor();
    await page.screenshot({ path: file });
  } finally {
    await browser.close();
    server.kill('SIGINT');
  }
}
