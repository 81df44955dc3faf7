/** A run that is refused takes back what it made, and nothing of anybody else. */
import fs from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeRun } from '../../src/engine/prepare.ts';
import type { Manifest } from '../../src/model/manifest.ts';
import { home } from '../support/cli.ts';

const wanted = (runsDir: string, begin: () => Promise<unknown>) => ({
  runId: 'r1',
  unique: 'x',
  runsDir,
  workdir: undefined,
  exclude: [],
  signal: new AbortController().signal,
  inputs: { variables: {}, files: {}, prompts: {}, schemas: {} },
  holdout: undefined,
  env: {},
  historian: {
    begin: async () => {
      await begin();
      return { problem: { code: 'x', severity: 'error' as const, message: 'no' } };
    },
    recordBase: async () => ({}),
  },
  goal: undefined,
  startNode: 'start',
  startedAt: '2026-01-01T00:00:00.000Z',
  keep: {},
  manifest: () => {
    throw new Error('not reached');
  },
});

test('the folders it made go again', async () => {
  await using it = await home();
  expect(await makeRun(wanted(join(it.path, '.factory/runs'), async () => {}))).toHaveProperty('problem');
  expect(await it.list('.')).toEqual([]);
});

test('another run that was made meanwhile stays', async () => {
  await using it = await home();
  const runsDir = join(it.path, '.factory/runs');
  const other = async () => {
    await mkdir(join(runsDir, 'other'));
    await writeFile(join(runsDir, 'other/manifest.json'), '{}');
  };
  expect(await makeRun(wanted(runsDir, other))).toHaveProperty('problem');
  expect(await it.list('.factory/runs')).toEqual(['other']);
  expect(await it.list('.factory')).toEqual(['.gitignore', 'runs']);
});

test("the package around the runs directory does not reach the product's files", async () => {
  await using it = await home({
    'package.json': '{"type":"module"}',
    'p.dot':
      'digraph g { workdir="none" start [shape=Mdiamond] t [shape=parallelogram, tool_command="echo \'require(\\"fs\\")\' > a.js && node a.js"] exit [shape=Msquare] start -> t -> exit }',
  });
  const ran = await it.factory(['run', 'p.dot']);
  expect(ran.code, ran.stderr).toBe(0);
});

test('a signal while the workdir is copied ends the copy, and nothing of the run is left', async () => {
  await using it = await home({ 'work/a.txt': 'a', 'work/b.txt': 'b' });
  const { historian: _, ...plain } = wanted(join(it.path, '.factory/runs'), async () => {});
  const run = { ...plain, historian: undefined, workdir: join(it.path, 'work') };
  const made = await makeRun({ ...run, signal: AbortSignal.abort('SIGINT') });
  expect(made).toMatchObject({
    code: 130,
    problem: { message: expect.stringContaining('by SIGINT before') },
  });
  expect(await it.list('.')).toEqual(['work']);
});

test('what a run begins with is flushed, also where it begins with nothing', async () => {
  await using it = await home();
  const { historian: _, ...plain } = wanted(join(it.path, '.factory/runs'), async () => {});
  const [openSync, open] = [fs.openSync, fs.promises.open];
  const read: string[] = [];
  const note = (path: unknown, flags: unknown) => {
    if (flags === 'r') read.push(String(path).replace(/^.*\.new\//, ''));
  };
  fs.openSync = (path, flags, ...rest) => {
    note(path, flags);
    return openSync(path, flags, ...rest);
  };
  fs.promises.open = (path, flags, ...rest) => {
    note(path, flags);
    return open(path, flags, ...rest);
  };
  syncBuiltinESMExports();
  try {
    await makeRun({ ...plain, historian: undefined, manifest: () => ({}) as Manifest });
  } finally {
    fs.openSync = openSync;
    fs.promises.open = open;
    syncBuiltinESMExports();
  }
  expect(read).toEqual(expect.arrayContaining(['snapshots', 'snapshots/trees', 'package.json']));
});
