/** Real pipes, whose readers are slow or take nothing. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as pass } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { untilRead } from '../../src/platform/streams.ts';
import { temp } from './temp.ts';

const much = 1024 * 1024;
const asked = AbortSignal.abort();
const never = new AbortController().signal;

/** A pipe into which more was written than it holds, and its unread end. */
async function full() {
  const it = await temp();
  execFileSync('mkfifo', [it.at('pipe')]);
  const end = openSync(it.at('pipe'), constants.O_RDONLY | constants.O_NONBLOCK);
  const stream = new Socket({ fd: openSync(it.at('pipe'), constants.O_WRONLY), readable: false });
  stream.write('x'.repeat(much));
  return {
    stream,
    end,
    async [Symbol.asyncDispose]() {
      stream.destroy();
      await once(stream, 'close');
      closeSync(end);
      await it[Symbol.asyncDispose]();
    },
  };
}

/** Reads what has arrived. */
function bite(end: number, bytes: number): number {
  try {
    return readSync(end, Buffer.alloc(bytes));
  } catch {
    return 0;
  }
}

test('a reader that continues after the request to end gets everything, however slowly', async () => {
  await using pipe = await full();
  let isOver = false;
  const over = untilRead([pipe.stream], { asked, enough: never }, 400).then(() => {
    isOver = true;
  });
  let read = 0;
  while (!isOver) {
    read += bite(pipe.end, much / 32);
    await pass(30);
  }
  await over;
  for (let more = 1; more > 0; read += more) more = bite(pipe.end, much);
  expect(read).toBe(much);
});

test('who takes nothing is not waited for, and does not cost another reader anything', async () => {
  await using dead = await full();
  await using other = await full();
  const reading = untilRead([dead.stream, other.stream], { asked, enough: never }, 100);
  let read = 0;
  while (read < much) {
    read += bite(other.end, much);
    await pass(1);
  }
  await reading;
  expect(bite(dead.end, much)).toBeLessThan(much);
});

test('a signal that comes while readers are waited for hurries them', async () => {
  await using pipe = await full();
  const later = new AbortController();
  const reading = untilRead([pipe.stream], { asked: later.signal, enough: never }, 1);
  later.abort();
  await reading;
});
