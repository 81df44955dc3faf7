/** Graphviz in another thread: a large layout takes seconds, in which a server answers others. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { after } from './clock.ts';

/** The package, or in the built program the file that the build made of it. */
function modulePath(): string {
  const built = fileURLToPath(new URL('./wasm-graphviz.cjs', import.meta.url));
  return existsSync(built) ? built : createRequire(import.meta.url).resolve('@hpcc-js/wasm-graphviz');
}

const program = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(async (loaded) => {
    const { Graphviz } = loaded.Graphviz === undefined ? loaded.default : loaded;
    parentPort.postMessage((await Graphviz.load()).layout(workerData.dot, 'json', 'dot'));
  });`;

/** The layout of DOT as JSON; undefined if Graphviz cannot do it, or not within `mostMs`. */
export const layoutInThread = (dot: string, mostMs: number): Promise<string | undefined> =>
  new Promise((settle) => {
    const workerData = { dot, module: pathToFileURL(modulePath()).href };
    // Its own flags: a runner of tests has some that a thread refuses.
    const worker = new Worker(program, { eval: true, workerData, execArgv: [], stdout: true, stderr: true });
    const end = (layout?: string): void => {
      forget();
      void worker.terminate();
      settle(layout);
    };
    const forget = after(mostMs, end);
    worker.once('message', (layout: string) => end(layout));
    // Out of memory, or a defect of the library.
    worker.once('error', () => end());
    worker.once('exit', () => end());
  });
