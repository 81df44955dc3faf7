import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { exportConflict, exportOrders, openShelf, writeRecords } from '../../src/planner/shelf.ts';

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
  test('makes its folder, and may be made again by a process that was cut', async () => {
    const deep = join(at, 'a/b');
    expect(await exportOrders(deep, orders, false)).toBeUndefined();
    await rm(join(deep, 'WORK_ORDERS_MANIFEST.json'));
    expect(await exportOrders(deep, orders, false)).toBeUndefined();
    expect(await names('a/b')).toEqual(['WO-01.json', 'WORK_ORDERS_MANIFEST.json']);
  });

  test('is refused by other orders, and by a manifest alone, and touches nothing then', async () => {
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

  test('with overwrite replaces the orders that are there and nothing else', async () => {
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

  test('to a place that is no folder is a problem, not a crash', async () => {
    await put({ file: '' });
    expect(await exportConflict(join(at, 'file'))).toHaveProperty('problem');
    expect(await exportConflict(join(at, 'file/below'))).toHaveProperty('problem');
    expect(await exportOrders(join(at, 'file/below'), orders, true)).toHaveProperty('problem');
  });
});

test('records are written whole: what an earlier end left in their folders goes', async () => {
  const shelf = await openShelf(at, 'R1');
  if ('problem' in shelf) throw new Error(shelf.problem);
  await writeRecords(
    shelf.dir,
    new Map([
      ['compile/a', '1'],
      ['output/WO-01.json', '1'],
      ['run.json', '1'],
    ]),
  );
  await writeRecords(
    shelf.dir,
    new Map([
      ['compile/b', '2'],
      ['run.json', '2'],
    ]),
  );
  expect([await names('planner/R1/compile'), await names('planner/R1/output')]).toEqual([['b'], []]);
  expect(await readFile(join(shelf.dir, 'run.json'), 'utf8')).toBe('2');
  expect(await openShelf(at, 'R1')).toMatchObject({ problem: expect.stringContaining('already') });
});

test('a folder that a killed process has only opened may be opened again, one with a closed record may not', async () => {
  const shelf = await openShelf(at, 'R1');
  if ('problem' in shelf) throw new Error(shelf.problem);
  const record = (finished_at_utc: string | null) =>
    JSON.stringify({ run_id: 'R1', finished_at_utc, success: null }, null, 2);
  await writeFile(join(shelf.dir, 'run.json'), record(null));
  expect(await openShelf(at, 'R1')).toEqual(shelf);
  await writeFile(join(shelf.dir, 'run.json'), record('2026-01-02T03:04:05.000000Z'));
  expect(await openShelf(at, 'R1')).toHaveProperty('problem');
});
