import { expect, test } from 'vitest';
import { orderFiles } from '../../src/builder/orders.ts';
import { folder, put } from './support.ts';

test('the work orders of a folder are its WO-*.json, by number, those without one last', async () => {
  using it = folder();
  const names = ['WO-10.json', 'WO-9.json', 'WO-x.json', 'WO-2-b.json', 'WO-02.json', 'WO-.json'];
  const others = ['wo-01.json', 'WO-03.json.bak', 'xWO-04.json', 'WO05.json', 'WORK_ORDERS_MANIFEST.json'];
  put(it.path, Object.fromEntries([...names, ...others].map((name) => [name, '{}'])));
  expect(await orderFiles(it.path)).toEqual([
    'WO-02.json',
    'WO-2-b.json',
    'WO-9.json',
    'WO-10.json',
    'WO-.json',
    'WO-x.json',
  ]);
});
