#!/usr/bin/env node
/** `npm run false-success`: makes the TypeScript of the measurement into one script in memory and runs it.
 *  `npm run false-success -- --help` lists the flags. */
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const project = resolve(import.meta.dirname, '..');
const built = await build({
  entryPoints: [join(project, 'scripts/false-success/main.ts')],
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
