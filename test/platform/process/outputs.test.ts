/** The files of a program's output, and the pipes: where their names stand as long as they have any. */
import { chmodSync, closeSync, mkdirSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { openOutput, realPipes } from '../../../src/platform/process/outputs.ts';
import { asHeldByModes } from '../../workspace/folders.ts';
import { temp } from '../temp.ts';

test('pipes are created next to the output, where a resume cleans up, and leave no name there', async () => {
  await using it = await temp();
  // A killed process leaves nothing in a folder that nothing cleans up.
  vi.stubEnv('TMPDIR', it.at('nowhere'));
  try {
    const pipes = await realPipes(it.dir);
    expect(pipes).toHaveLength(2);
    for (const { reader, writer } of pipes ?? []) {
      writeSync(writer, 'said');
      const read = Buffer.alloc(8);
      expect(read.toString('utf8', 0, readSync(reader, read))).toBe('said');
      for (const end of [reader, writer]) closeSync(end);
    }
    expect(readdirSync(it.dir)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('where the folder can have no pipes they are made in the one for temporary files', async () => {
  await using it = await temp();
  vi.stubEnv('TMPDIR', it.dir);
  try {
    // Those that are left of the sixteen which are made at a time come first.
    for (let taken = 0; taken < 18; taken += 2) {
      const pipes = await realPipes(it.at('nowhere'));
      expect(pipes).toHaveLength(2);
      for (const { reader, writer } of pipes ?? []) for (const end of [reader, writer]) closeSync(end);
    }
    expect(readdirSync(it.dir)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('an output is opened anew where a stage has left a folder that it has locked', async () => {
  await using it = await temp();
  mkdirSync(it.at('out', 'in', 'x'), { recursive: true });
  chmodSync(it.at('out', 'in'), 0o500);
  await asHeldByModes(it.dir, async () => closeSync(openOutput(it.at('out'))));
  expect(readFileSync(it.at('out'), 'utf8')).toBe('');
});
