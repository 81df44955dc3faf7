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

/** Of Graphviz's answer it sends back only what a drawing is made from: parsing that is work for the thread that answers everybody. */
const program = `
  const { parentPort, workerData } = require('node:worker_threads');
  const few = (from, keys) =>
    Object.fromEntries(keys.flatMap((key) => (from[key] === undefined ? [] : [[key, from[key]]])));
  const drawn = (one) => {
    const kept = few(one, ['id', 'bb', 'pos', 'lp']);
    // The places of an edge are those of its strokes.
    if (one._hdraw_ !== undefined || one.tail !== undefined) delete kept.pos;
    for (const key of ['_draw_', '_hdraw_'])
      if (one[key] !== undefined)
        kept[key] = one[key].map((stroke) => few(stroke, ['op', 'points', 'rect'])).filter((stroke) => stroke.points || stroke.rect);
    return kept;
  };
  const loaded = import(workerData.module).then((found) =>
    (found.Graphviz === undefined ? found.default : found).Graphviz.load());
  parentPort.on('message', async (dot) => {
    const { bb, objects = [], edges = [] } = JSON.parse((await loaded).layout(dot, 'json', 'dot'));
    parentPort.postMessage(JSON.stringify({ bb, objects: objects.map(drawn), edges: edges.map(drawn) }));
  });`;

function openThread(): Worker {
  const workerData = { module: pathToFileURL(modulePath()).href };
  // Its own flags: a runner of tests has some that a thread refuses.
  const worker = new Worker(program, { eval: true, workerData, execArgv: [], stdout: true, stderr: true });
  // One that fails while it waits ends, too.
  worker.on('error', () => {});
  return worker.once('exit', () => {
    if (idle === worker) idle = undefined;
  });
}

/** A thread that waits for its next graph: loading Graphviz takes as long as a layout. It holds no process. */
let idle: Worker | undefined;
/** The memory of a thread that has laid out more than this is given back. */
const mostKept = 1_000_000;

/** The layout of DOT as JSON; undefined if Graphviz cannot do it, or not within `mostMs`. */
export const layoutInThread = (dot: string, mostMs: number): Promise<string | undefined> =>
  new Promise((settle) => {
    const worker = idle ?? openThread();
    idle = undefined;
    worker.ref();
    const end = (layout?: string): void => {
      forget();
      worker.off('message', end).off('exit', fail).off('error', fail);
      if (layout === undefined || idle !== undefined || dot.length > mostKept) void worker.terminate();
      else {
        idle = worker;
        worker.unref();
      }
      settle(layout);
    };
    // Out of memory, or a defect of the library.
    const fail = (): void => end();
    const forget = after(mostMs, fail);
    worker.on('message', end).on('exit', fail).on('error', fail);
    worker.postMessage(dot);
  });
