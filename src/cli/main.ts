#!/usr/bin/env node
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';
import { packageVersion } from '../platform/package.ts';

/** What `scripts/build.mjs` makes of `program.ts` and all that it imports: a function of Node's `require` and our place. */
type Program = (require: NodeJS.Require, place: string) => void;

/** One script and what V8 made of it when it was built: compiling it again at every start takes longer than a short run.
 *  It is taken from the very build of Node that runs us, else all is compiled anew: V8 turns away what another version of
 *  it has made, but not what its like in another Node has made, and that ends the process. */
function load(): Program {
  const folder = dirname(fileURLToPath(import.meta.url));
  const filename = join(folder, 'program.cjs');
  const source = readFileSync(filename, 'latin1');
  let cachedData: Buffer | undefined;
  try {
    // Named as in scripts/warm.mjs.
    const { version, platform, arch, execPath } = process;
    const maker = [version, platform, arch, statSync(execPath).size].join('-');
    cachedData = readFileSync(join(folder, `program-${maker}.cache`));
  } catch {
    // It only makes the start faster.
  }
  const script = new Script(source, { filename, ...(cachedData === undefined ? {} : { cachedData }) });
  const program: unknown = script.runInThisContext();
  // The build made it; its text cannot say so.
  return program as Program;
}

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
  load()(createRequire(import.meta.url), import.meta.url);
}
