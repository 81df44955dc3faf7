/** What a tool node of `true` costs with no engine at all: the same files, appended lines and flushes in the same order
 *  around Node's own spawn, and nothing thought between. Prints the mean in milliseconds. `least-node.mjs FOLDER TIMES` */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fdatasync, fsync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const [, , folder = '', times = ''] = process.argv;
const count = Number(times);
const flush = promisify(fsync);
const flushData = promisify(fdatasync);
const line = `${'x'.repeat(300)}\n`;
const state = `${'x'.repeat(2500)}\n`;

const make = (path, text) => {
  const file = openSync(path, 'wx');
  writeSync(file, text);
  closeSync(file);
};
const flushed = async (path) => {
  const file = openSync(path, 'r');
  await flush(file);
  closeSync(file);
};

mkdirSync(folder, { recursive: true });
const [events, trace, visits] = ['events', 'trace', 'visits'].map((name) =>
  openSync(join(folder, `${name}.jsonl`), 'a'),
);

async function node(number) {
  const dir = join(folder, `n${number}`);
  mkdirSync(dir);
  const before = ['stage.json', 'context.json'];
  for (const name of before) make(join(dir, name), line);
  for (const journal of [events, trace]) writeSync(journal, line);
  const output = ['tool.stdout.txt', 'tool.stderr.txt'];
  const [stdout, stderr] = output.map((name) => openSync(join(dir, name), 'wx'));
  const child = spawn('sh', ['-c', 'true'], { stdio: ['ignore', stdout, stderr], detached: true });
  await once(child, 'exit');
  for (const file of [stdout, stderr]) closeSync(file);
  const after = ['tool.exitcode.txt', 'workspace.diff.json', 'status.json'];
  for (const name of after) make(join(dir, name), line);
  writeSync(visits, line);
  const next = openSync(join(folder, '.checkpoint.tmp'), 'wx');
  writeSync(next, state);
  const artifacts = [...before, ...output, ...after, '.'].map((name) => flushed(join(dir, name)));
  await Promise.all([...artifacts, flushData(next), ...[visits, events, trace].map((one) => flushData(one))]);
  closeSync(next);
  renameSync(join(folder, '.checkpoint.tmp'), join(folder, 'checkpoint.json'));
  await flushed(folder);
  for (const journal of [events, trace]) writeSync(journal, line);
}

// The first ones load code.
for (let number = 0; number < 5; number++) await node(-number);
const start = performance.now();
for (let number = 1; number <= count; number++) await node(number);
console.log((performance.now() - start) / count);
