/** What a tool node of `true` costs with no engine at all: the same files, appended lines and flushes in the same order
 *  around Node's own spawn, and nothing thought between. Prints the mean in milliseconds. `least-node.mjs FOLDER TIMES` */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fdatasync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const [, , folder = '', times = ''] = process.argv;
const count = Number(times);
const flushData = promisify(fdatasync);
const line = `${'x'.repeat(300)}\n`;
const state = `${'x'.repeat(2500)}\n`;

const make = (path, text) => {
  const file = openSync(path, 'wx');
  writeSync(file, text);
  closeSync(file);
};
mkdirSync(folder, { recursive: true });
const [events, trace, journal] = ['events', 'trace', 'journal'].map((name) =>
  openSync(join(folder, `${name}.jsonl`), 'a'),
);

async function node(number) {
  const dir = join(folder, `n${number}`);
  mkdirSync(dir);
  const before = ['stage.json', 'context.json'];
  for (const name of before) make(join(dir, name), line);
  for (const one of [journal, events, trace]) writeSync(one, line);
  const output = ['tool.stdout.txt', 'tool.stderr.txt'];
  const [stdout, stderr] = output.map((name) => openSync(join(dir, name), 'wx'));
  const child = spawn('sh', ['-c', 'true'], { stdio: ['ignore', stdout, stderr], detached: true });
  await once(child, 'exit');
  for (const file of [stdout, stderr]) closeSync(file);
  const after = ['tool.exitcode.txt', 'workspace.diff.json', 'status.json'];
  for (const name of after) make(join(dir, name), line);
  writeSync(journal, line);
  await flushData(journal);
  const next = openSync(join(folder, '.checkpoint.tmp'), 'wx');
  writeSync(next, state);
  closeSync(next);
  renameSync(join(folder, '.checkpoint.tmp'), join(folder, 'checkpoint.json'));
  for (const one of [events, trace]) writeSync(one, line);
}

// The first ones load code.
for (let number = 0; number < 5; number++) await node(-number);
const start = performance.now();
for (let number = 1; number <= count; number++) await node(number);
console.log((performance.now() - start) / count);
