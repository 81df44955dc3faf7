/** The command line with faults: everything that it loads finds Node's own modules replaced. */
import './faults.ts';

// What is flushed every second would come at another operation in every run.
const every = globalThis.setInterval;
globalThis.setInterval = ((work: () => void, ms: number) =>
  every(work, ms === 1000 ? 1e9 : ms)) as typeof every;

// The built command line, next to which this is put.
const built: string = './real.js';
await import(built);
