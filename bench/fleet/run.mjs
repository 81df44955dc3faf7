#!/usr/bin/env node
/** Measures the queue of jobs: makes the TypeScript into one script, and starts that.
 *
 *      npm run bench:fleet -- [--quick] [--only CASE,…] [--workers N] */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const project = resolve(import.meta.dirname, '../..');
// Below the project: the script looks for its package, and next to that for pg-boss.
const folder = mkdtempSync(join(project, 'node_modules/.factory-bench-'));
const outfile = join(folder, 'fleet.mjs');
try {
  await build({
    entryPoints: [join(project, 'bench/fleet/main.ts')],
    outfile,
    absWorkingDir: project,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
  });
  const { status } = spawnSync(process.execPath, [outfile, project, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 130;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
