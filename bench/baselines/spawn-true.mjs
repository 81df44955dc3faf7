/** What Node's own `spawn('sh', ['-c', 'true'])` costs, in milliseconds: the mean of one right after the other, and of those
 *  before which the process has waited a little, as one does that has other work between. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

const times = Number(process.argv[2]);
const pauseMs = 4;

async function mean(pause) {
  let sum = 0;
  for (let index = 0; index < times; index++) {
    if (pause > 0) await setTimeout(pause);
    const start = performance.now();
    await once(spawn('sh', ['-c', 'true']), 'close');
    sum += performance.now() - start;
  }
  return sum / times;
}

// The first ones load code; a run of many nodes does not pay for that at each.
for (let index = 0; index < 5; index++) await once(spawn('sh', ['-c', 'true']), 'close');
console.log(`${await mean(0)} ${await mean(pauseMs)}`);
