/** The files of a program's output, and the pipes: where their names stand as long as they have any. */
import fs, { chmodSync, closeSync, mkdirSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { expect, test, vi } from 'vitest';
import { openOutput, realPipes } from '../../src/system/outputs.ts';
import { asHeldByModes } from '../workspace/folders.ts';
import { temp } from './temp.ts';

test('pipes are made beside the output, where a resume tidies, and leave no name there', async () => {
  await using it = await temp();
  // Whoever is killed leaves nothing in a folder that is nobody's.
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

test('where the descriptors run out in the middle of a pipe, its first end is closed again', async () => {
  await using it = await temp();
  const { openSync, closeSync } = fs;
  const held = new Set<number>();
  let opened = 0;
  fs.openSync = (path, ...rest) => {
    if (!String(path).includes('.pipes-')) return openSync(path, ...rest);
    // The second end of the second pipe.
    if (++opened % 4 === 0) throw Object.assign(new Error('too many open files'), { code: 'EMFILE', path });
    const file = openSync(path, ...rest);
    held.add(file);
    return file;
  };
  fs.closeSync = (file) => {
    held.delete(file);
    closeSync(file);
  };
  syncBuiltinESMExports();
  try {
    // Those that are left from before come first.
    for (let taken = 0; opened === 0 && taken < 18; taken += 2)
      for (const { reader, writer } of (await realPipes(it.dir)) ?? [])
        for (const end of [reader, writer]) closeSync(end);
    expect(opened).toBeGreaterThan(0);
    expect([...held]).toEqual([]);
  } finally {
    Object.assign(fs, { openSync, closeSync });
    syncBuiltinESMExports();
  }
});

test('where a pipe without a name is nothing any more, as through FUSE, pipes are made elsewhere', async () => {
  await using it = await temp();
  for (const folder of ['near', 'tmp']) mkdirSync(it.at(folder));
  vi.stubEnv('TMPDIR', it.at('tmp'));
  const { openSync, closeSync, fstatSync } = fs;
  const near = new Set<number>();
  let opened = 0;
  fs.openSync = (path, ...rest) => {
    const file = openSync(path, ...rest);
    if (!String(path).startsWith(it.at('near'))) return file;
    opened++;
    near.add(file);
    return file;
  };
  fs.closeSync = (file) => {
    near.delete(file);
    closeSync(file);
  };
  fs.fstatSync = ((file: number) => {
    if (near.has(file)) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return fstatSync(file);
  }) as typeof fstatSync;
  syncBuiltinESMExports();
  try {
    // Those that are left from before come first.
    for (let taken = 0; opened === 0 && taken < 18; taken += 2) {
      const pipes = await realPipes(it.at('near'));
      expect(pipes).toHaveLength(2);
      for (const { reader, writer } of pipes ?? [])
        for (const end of [reader, writer]) {
          expect(fs.fstatSync(end).isFIFO()).toBe(true);
          closeSync(end);
        }
    }
    expect(opened).toBeGreaterThan(0);
    expect([...near]).toEqual([]);
    for (const folder of ['near', 'tmp']) expect(readdirSync(it.at(folder))).toEqual([]);
  } finally {
    Object.assign(fs, { openSync, closeSync, fstatSync });
    syncBuiltinESMExports();
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
