#!/usr/bin/env node
import { loadProgram } from '../platform/load-program.ts';
import { packageVersion } from '../platform/package.ts';

const [only, ...more] = process.argv.slice(2);
if ((only === '--version' || only === '-V') && more.length === 0) {
  // Scripts ask for the version before every run: the flag parser alone would double what that takes.
  process.stdout.on('error', (error) => {
    if ('code' in error && error.code === 'EPIPE') return;
    process.stderr.write(`factory: standard output cannot be written: ${error.message}\n`);
    process.exitCode = 1;
  });
  process.stdout.write(`${packageVersion()}\n`);
} else {
  // By default it opens Node's debugger, through which any local process could control this one.
  process.on('SIGUSR1', () => {});
  loadProgram(import.meta.url).commandLine();
}
