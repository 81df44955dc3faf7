#!/usr/bin/env node
/** Starts the bench: makes its TypeScript into one script in memory, so that nothing is left on disk, and runs that.
 *
 *      npm run bench -- [--quick] [--only CASE,…] [--runs N] [--against "COMMAND"] [--json FILE] [--plot FILE] */
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const project = resolve(import.meta.dirname, '..');
const built = await build({
  entryPoints: [join(project, 'bench/main.ts')],
  absWorkingDir: project,
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  logLevel: 'warning',
});
const script = Buffer.from(built.outputFiles[0]?.contents ?? '').toString('base64');
const { main } = await import(`data:text/javascript;base64,${script}`);
process.exitCode = await main(process.argv.slice(2), project);
