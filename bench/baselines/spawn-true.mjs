/** What Node's own `spawn('sh', ['-c', 'true'])` costs, one after the other; prints the mean in milliseconds. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const times = Number(process.argv[2]);
// The first ones load code; a run of many nodes does not pay for that at each.
for (let index = 0; index < 5; index++) await once(spawn('sh', ['-c', 'true']), 'close');
const start = performance.now();
for (let index = 0; index < times; index++) await once(spawn('sh', ['-c', 'true']), 'close');
console.log((performance.now() - start) / times);
