import { expect, test } from 'vitest';
import { checkOrder, loadOrders, orderFiles } from '../../src/run/orders.ts';
import { folder, put } from '../builder/support.ts';

test('the work orders of a folder are its WO-*.json, by number, those without a number last', async () => {
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

const order = (id: string, more: object = {}) => ({
  id,
  title: 't',
  intent: 'i',
  allowed_files: [],
  forbidden: [],
  acceptance_commands: ['true'],
  context_files: [],
  ...more,
});
const planned = JSON.stringify({ work_orders: [order('WO-01'), order('WO-02')] });

test.for([
  [
    'compiled orders come before a given plan',
    {
      '.factory/orders/WO-01.json': order('WO-01'),
      '.factory/in/plan.json': { work_orders: [order('WO-07')] },
    },
    ['.factory/orders/WO-01.json WO-01'],
  ],
  [
    'orders of a folder come before the manifest next to them',
    { '.factory/in/plan/WO-01.json': order('WO-01'), '.factory/in/plan/WORK_ORDERS_MANIFEST.json': planned },
    ['.factory/in/plan/WO-01.json WO-01'],
  ],
  [
    'a single given order may have any id',
    { '.factory/in/plan.json': order('Ünï cödé ☃') },
    ['.factory/in/plan.json Ünï cödé ☃'],
  ],
  [
    'its id may not begin with a blank',
    { '.factory/in/plan.json': order(' x') },
    'has the id " x", not WO-NN',
  ],
  [
    'its id may not have a line end',
    { '.factory/in/plan.json': order('x\ny') },
    'has the id "x\\ny", not WO-NN',
  ],
  ['its id may not be longer than a title', { '.factory/in/plan.json': order('x'.repeat(101)) }, 'not WO-NN'],
  [
    'a FIX order is not accepted as an order of a plan',
    { '.factory/in/plan.json': { work_orders: [order('WO-01'), order('FIX-01')] } },
    '.factory/in/plan.json (work order 2) has the id "FIX-01", not WO-NN',
  ],
  [
    'an order is not exempt if its planner did not exempt it',
    {
      '.factory/orders/WO-01.json': order('WO-01', {
        verify_exempt: true,
        provenance: { planner_run_id: 'P', bootstrap: false },
      }),
    },
    "asks not to be verified (verify_exempt) without a planner's declaration",
  ],
  [
    'a FIX order that no planner has signed is not exempt',
    {
      '.factory/orders/WO-01.json': order('WO-01'),
      '.factory/orders/FIX-01.json': order('FIX-01', {
        verify_exempt: true,
        provenance: { planner_run_id: 'P', bootstrap: true },
      }),
      '.factory/orders/WORK_ORDERS_MANIFEST.json': { work_orders: [order('WO-01')] },
    },
    'FIX-01 asks not to be verified (verify_exempt), but WORK_ORDERS_MANIFEST.json is not the one that',
  ],
  [
    'a manifest alone',
    { '.factory/in/plan/WORK_ORDERS_MANIFEST.json': planned },
    ['WO-01', 'WO-02'].map(
      (id, n) => `.factory/in/plan/WORK_ORDERS_MANIFEST.json (work order ${n + 1}) ${id}`,
    ),
  ],
  [
    'two orders with the same id',
    { '.factory/in/plan.json': { work_orders: [order('WO-01'), order('WO-01')] } },
    '(work order 2) and .factory/in/plan.json (work order 1) are both WO-01',
  ],
  ['an order that is not JSON', { '.factory/orders/WO-01.json': '{' }, 'JSON'],
  [
    'an order without commands',
    { '.factory/orders/WO-01.json': order('WO-01', { acceptance_commands: [] }) },
    'acceptance_commands',
  ],
  [
    'a path out of the repository',
    { '.factory/orders/WO-01.json': order('WO-01', { allowed_files: ['../x'] }) },
    '../x',
  ],
  ['an order in a file with another number', { '.factory/orders/WO-01.json': order('WO-02') }, 'agree'],
  [
    'an order that exempts itself',
    { '.factory/orders/WO-01.json': order('WO-01', { verify_exempt: true }) },
    '--allow-verify-exempt',
  ],
  ['a folder instead of an order', { '.factory/orders/WO-01.json/x': {} }, 'it is a folder'],
  ['neither an order nor a plan', { '.factory/in/plan.json': [order('WO-01')] }, 'neither a work order nor'],
] as const)('%s', async ([, files, wanted]) => {
  const texts = Object.entries(files).map(([path, value]) => [
    path,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  using it = folder(Object.fromEntries(texts));
  const loaded = await loadOrders(it.path, { allowExempt: false });
  if (typeof wanted === 'string') expect(loaded).toEqual({ problem: expect.stringContaining(wanted) });
  else if ('problem' in loaded) throw new Error(loaded.problem);
  else expect(loaded.orders.map((one) => `${one.from} ${one.order.id}`)).toEqual(wanted);
});

test('the digest covers all fields of an order except its provenance', () => {
  const digest = (value: object): string => {
    const checked = checkOrder({ from: 'x', value, alone: true }, { allowExempt: false });
    if ('problem' in checked) throw new Error(checked.problem);
    return checked.digest;
  };
  const plain = digest(order('WO-01'));
  const { id, ...others } = order('WO-01', { preconditions: [], notes: null });
  const provenance = { planner_run_id: 'P', compile_hash: '', manifest_sha256: '', bootstrap: true };
  for (const same of [{ ...others, id }, order('WO-01', { provenance }), order('WO-01', { priority: 1 })])
    expect(digest(same)).toBe(plain);
  for (const other of [{ id: 'WO-02' }, { notes: 'n' }, { intent: 'j' }, { forbidden: ['x'] }])
    expect(digest(order('WO-01', other))).not.toBe(plain);
});
