/** `npm run crash`: bundles the harness in test/crash, which is TypeScript, and runs it. */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { programTexts } from './program-text.mjs';

const root = resolve(import.meta.dirname, '..');
// In the repository, so that the bundle finds its packages.
const outfile = join(root, `.crash.${process.pid}.mjs`);
try {
  await build({
    entryPoints: [join(root, 'test/crash/main.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    plugins: [programTexts],
    logLevel: 'warning',
  });
  const { main } = await import(pathToFileURL(outfile).href);
  await rm(outfile, { force: true });
  process.exitCode = await main(process.argv.slice(2), root);
} finally {
  await rm(outfile, { force: true });
}
