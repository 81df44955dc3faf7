#!/usr/bin/env node
/** The door in: answers `--version` at once, and loads the program for everything else. */
import { packageVersion } from './system/package.ts';

const [only, ...more] = process.argv.slice(2);
if ((only === '--version' || only === '-V') && more.length === 0) {
  // Scripts ask for the version before every run: the flag parser alone would double what that takes.
  process.stdout.write(`${packageVersion()}\n`);
} else {
  await import('./program.ts');
}
