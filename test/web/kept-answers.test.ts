/** Answers about a run that many clients ask for: how often they are made. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { layout } from '../../src/core/records/layout.ts';
import { realClock } from '../../src/platform/clock.ts';
import { openKeptAnswers } from '../../src/web/kept-answers.ts';
import { temp } from '../platform/temp.ts';
import { handClock } from '../support/clock.ts';

/** A run directory, and answers that take `took` milliseconds and say how many were made before. */
async function asked(took = 0) {
  const it = await temp();
  const dir = it.at('r');
  mkdirSync(dir);
  writeFileSync(layout(dir).events, '');
  const clock = handClock(0);
  const kept = openKeptAnswers(clock, new AbortController().signal);
  let made = 0;
  let status = 200;
  return {
    clock,
    kept,
    made: () => made,
    fails: (with_: number) => {
      status = with_;
    },
    write: () => appendFileSync(layout(dir).events, '{}\n'),
    ask: async (question = 'run'): Promise<string> => {
      const answer = await kept.answer({ id: 'r', dir }, question, async () => {
        made += 1;
        const text = `${question} ${made}`;
        await clock.sleep(took);
        if (status === 0) throw new Error('no disk');
        return new Response(text, { status, headers: { 'X-Made': String(made) } });
      });
      return `${answer.status} ${answer.headers.get('x-made')}: ${await answer.text()}`;
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

test('a hundred clients that ask the same are answered with one reading, byte for byte', async () => {
  await using it = await asked();
  const first = await Promise.all(Array.from({ length: 100 }, () => it.ask()));
  expect(new Set(first)).toEqual(new Set(['200 1: run 1']));
  expect(await it.ask('why')).toBe('200 2: why 2');
  expect(it.made()).toBe(2);
});

test('a server with many answers prints no warning', async () => {
  await using it = await temp();
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  const closing = new AbortController();
  const kept = openKeptAnswers(realClock, closing.signal);
  const run = { id: 'r', dir: it.dir };
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => kept.answer(run, `${n}`, async () => new Response(''))),
  );
  closing.abort();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

test('what changed is read again: a file of the run, its row, or the time', async () => {
  await using it = await asked();
  expect(await it.ask()).toBe('200 1: run 1');
  it.write();
  expect(await it.ask()).toBe('200 2: run 2');
  it.kept.drop('r');
  expect(await it.ask()).toBe('200 3: run 3');
  it.clock.advance(249);
  expect(await it.ask()).toBe('200 3: run 3');
  it.clock.advance(1);
  expect(await it.ask()).toBe('200 4: run 4');
});

test('an answer that was begun before a change is not given to those who ask after it', async () => {
  await using it = await asked(10);
  const before = it.ask();
  await it.clock.waiting(1);
  it.write();
  const after = [it.ask(), it.ask()];
  it.clock.advance(10);
  expect(await before).toBe('200 1: run 1');
  // After ten milliseconds of work the next begins nine times as long later.
  await it.clock.waiting(3);
  expect(it.made()).toBe(1);
  it.clock.advance(89);
  expect(it.made()).toBe(1);
  it.clock.advance(1);
  await it.clock.waiting(1);
  expect(it.made()).toBe(2);
  it.clock.advance(10);
  expect(await Promise.all(after)).toEqual(['200 2: run 2', '200 2: run 2']);
});

test('a refusal is kept with its status, an error is not', async () => {
  await using it = await asked();
  it.fails(409);
  expect([await it.ask(), await it.ask()]).toEqual(['409 1: run 1', '409 1: run 1']);
  it.write();
  it.fails(0);
  await expect(it.ask()).rejects.toThrow('no disk');
  it.fails(200);
  expect(await it.ask()).toBe('200 3: run 3');
});
