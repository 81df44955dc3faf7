/** Loads the built program, as the command line and the library do. */
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

/** What a program can do. Either evaluates only the modules that it needs. */
type Program = {
  /** Runs the command of this process. */
  readonly commandLine: () => void;
  /** The exports of the library. */
  readonly library: () => Readonly<Record<string, unknown>>;
};

/** What `scripts/build.mjs` makes of the sources: a function of Node's `require`, our place, and the module to fill. */
type Wrapped = (require: NodeJS.Require, place: string, module: { exports: Program }) => void;

/** One script and what V8 made of it when it was built: compiling it again at every start takes longer than a short run.
 *  It is taken from the very build of Node that runs us, else all is compiled anew: V8 turns away what another version of
 *  it has made, but not what its like in another Node has made, and that ends the process. `place` is the URL of a file next
 *  to the program. */
export function loadProgram(place: string): Program {
  const folder = dirname(fileURLToPath(place));
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
  const made: unknown = script.runInThisContext();
  // The build made it; its text cannot say so.
  const module = {} as { exports: Program };
  (made as Wrapped)(createRequire(place), place, module);
  return module.exports;
}
