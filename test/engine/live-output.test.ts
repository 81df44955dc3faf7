import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LayerContext } from '../../src/engine/layers/layer.ts';
import { liveOutput, withheldNotice } from '../../src/engine/live-output.ts';
import { temp } from '../platform/temp.ts';

const secret = 'hunter2-hunter2';

/** A program's output files, and what a watcher sees of them. `look` is a turn of the timer. */
async function watched(holdout: 'seen' | 'hidden' | 'none' = 'none') {
  const it = await temp();
  const seen: string[] = [];
  let look = (): void => {};
  const context = {
    run: {
      every: (_ms: number, work: () => void) => {
        look = work;
        return () => {
          look = () => {};
        };
      },
      watcher: { output: (_: string, text: string, channel: string) => seen.push(`${channel}: ${text}`) },
      ...(holdout === 'none' ? {} : { sealed: {} }),
    },
    node: { id: 'a', settings: { sees_holdout: holdout === 'seen' } },
    kind: { type: 'tool' },
    secrets: { known: () => [secret] },
  } as unknown as LayerContext;
  const files = [it.at('out'), it.at('err')] as const;
  for (const file of files) writeFileSync(file, '');
  const live = liveOutput(context, files);
  live.begin();
  return {
    out: (text: string | Buffer) => appendFileSync(files[0], text),
    err: (text: string) => appendFileSync(files[1], text),
    files,
    look: () => look(),
    end: live.end,
    seen,
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  };
}

test('what a program prints is handed on at each look, and the rest at its end', async () => {
  await using it = await watched();
  it.out('one\n');
  it.err('two\n');
  it.look();
  it.look();
  it.out('three');
  it.end();
  it.look();
  expect(it.seen).toEqual(['stdout: one\n', 'stderr: two\n', 'stdout: three']);
});

test('of a program that ends before the first look nothing is read', async () => {
  await using it = await watched();
  it.out('one\n');
  it.end();
  expect(it.seen).toEqual([]);
});

test('a secret does not appear, wherever two looks cut it', async () => {
  for (let cut = 1; cut < secret.length; cut++) {
    await using it = await watched();
    it.out(`> ${secret.slice(0, cut)}`);
    it.look();
    it.out(`${secret.slice(cut)} <`);
    it.look();
    it.end();
    expect(it.seen.join('').replaceAll('stdout: ', ''), `cut at ${cut}`).toBe('> *** <');
  }
});

test('a character that two looks cut is shown once it is complete', async () => {
  await using it = await watched();
  const bytes = Buffer.from('é\n');
  it.out(bytes.subarray(0, 1));
  it.look();
  it.out(bytes.subarray(1));
  it.look();
  it.end();
  expect(it.seen).toEqual(['stdout: é\n']);
});

test('of a flood the middle is left out, from a line end on, so that no part of a secret appears', async () => {
  await using it = await watched();
  it.look();
  it.out(`${secret.slice(0, 5)}`);
  it.look();
  // The last 64 KiB begin within the secret.
  it.out(`${secret.slice(5)}\n${'x'.repeat(64 * 1024 - 4)}\nlast\n`);
  it.out(`${'y'.repeat(100)}\n`);
  it.look();
  it.end();
  const shown = it.seen.join('');
  expect(shown).toMatch(/^stdout: \n\[… \d+ bytes are not shown …\]\nlast\ny+\n$/);
});

test('the output of a node that sees the holdout is withheld, with a notice', async () => {
  await using it = await watched('seen');
  it.out('expected 42\n');
  it.look();
  it.look();
  it.end();
  expect(it.seen).toEqual([`stderr: ${withheldNotice}`]);
});

test('in a run with a holdout, the output of a node that does not see it is handed on', async () => {
  await using it = await watched('hidden');
  it.out('one\n');
  it.look();
  it.end();
  expect(it.seen).toEqual(['stdout: one\n']);
});

test('an output file that a node replaced by a link or a folder shows nothing', async () => {
  await using it = await watched();
  writeFileSync(`${it.files[0]}.other`, 'elsewhere\n');
  for (const file of it.files) rmSync(file);
  symlinkSync(`${it.files[0]}.other`, it.files[0]);
  mkdirSync(it.files[1]);
  it.look();
  it.end();
  expect(it.seen).toEqual([]);
});
