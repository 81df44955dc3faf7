import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  exportConflict,
  exportOrders,
  recordsDirectory,
  recordsProblem,
  writeRecords,
} from '../../src/planner/artifacts.ts';

let at = '';
beforeEach(async () => {
  at = await mkdtemp(join(tmpdir(), 'factory-shelf-'));
});
afterEach(() => rm(at, { recursive: true, force: true }));

const put = async (files: Record<string, string>) => {
  for (const [name, text] of Object.entries(files)) await writeFile(join(at, name), text);
};
const names = async (folder = '') => (await readdir(join(at, folder))).sort();
const orders = { 'WO-01.json': 'one', 'WORK_ORDERS_MANIFEST.json': 'all' };

describe('an export', () => {
  test('creates its directory, and can be repeated after an interruption', async () => {
    const deep = join(at, 'a/b');
    expect(await exportOrders(deep, orders, false)).toBeUndefined();
    await rm(join(deep, 'WORK_ORDERS_MANIFEST.json'));
    expect(await exportOrders(deep, orders, false)).toBeUndefined();
    expect(await names('a/b')).toEqual(['WO-01.json', 'WORK_ORDERS_MANIFEST.json']);
  });

  test('is refused by other orders, and by a manifest alone, and then touches nothing', async () => {
    await put({ 'WO-01.json': 'other', 'notes.txt': 'mine' });
    expect(await exportOrders(at, orders, false)).toMatchObject({
      problem: expect.stringMatching(/WO-01\.json.*--overwrite/),
    });
    expect(await readFile(join(at, 'WO-01.json'), 'utf8')).toBe('other');
    await rm(join(at, 'WO-01.json'));
    expect(await exportConflict(at, orders)).toBeUndefined();
    await put({ 'WORK_ORDERS_MANIFEST.json': 'other' });
    expect(await exportConflict(at)).toMatchObject({
      problem: expect.stringContaining('WORK_ORDERS_MANIFEST.json'),
    });
  });

  test('with overwrite replaces only the existing orders', async () => {
    await put({
      'WO-01.json': 'x',
      'WO-09.json': 'x',
      'WO-extra.json': 'x',
      'wo.json': 'x',
      'WO-01.txt': 'x',
    });
    await put({ 'validation_errors.json': '[]' });
    expect(await exportOrders(at, orders, true)).toBeUndefined();
    expect(await names()).toEqual(
      ['WO-01.json', 'WO-01.txt', 'WORK_ORDERS_MANIFEST.json', 'validation_errors.json', 'wo.json'].sort(),
    );
    expect(await readFile(join(at, 'WO-01.json'), 'utf8')).toBe('one');
  });

  test('to a path that is not a directory is a problem, not a crash', async () => {
    await put({ file: '' });
    expect(await exportConflict(join(at, 'file'))).toHaveProperty('problem');
    expect(await exportConflict(join(at, 'file/below'))).toHaveProperty('problem');
    expect(await exportOrders(join(at, 'file/below'), orders, true)).toHaveProperty('problem');
  });
});

test('a report replaces an earlier one of the same run, and another run cannot use its directory', async () => {
  const dir = recordsDirectory(at, 'R1');
  expect(recordsProblem(dir)).toBeUndefined();
  const report = (entries: Record<string, string>) => writeRecords(dir, new Map(Object.entries(entries)));
  await report({ 'compile/a': '1', 'output/WO-01.json': '1', 'run.json': '1' });
  await report({ 'compile/b': '2', 'run.json': '2' });
  expect([await names('planner/R1/compile'), await names('planner/R1/output')]).toEqual([['b'], []]);
  expect(await readFile(join(dir, 'run.json'), 'utf8')).toBe('2');
  expect(recordsProblem(dir)).toMatchObject({ problem: expect.stringContaining('another run') });
});
