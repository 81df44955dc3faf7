/** Failed scenarios become a work order that fits the plan, and no other program can add one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Build } from '../../src/builder/build-state.ts';
import { createFixOrder } from '../../src/builder/mend.ts';
import { orderState } from '../../src/builder/step-context.ts';
import { buildStateIn } from '../../src/core/records/build.ts';
import { checkOrder, loadOrders } from '../../src/run/orders.ts';
import { folder, put } from './support.ts';

const order = (id: string, more: Record<string, unknown>) => ({
  id,
  title: 't',
  intent: 'i',
  allowed_files: [],
  forbidden: ['secrets/'],
  acceptance_commands: ['node --test'],
  context_files: [],
  ...more,
});
/** Together with those of the other orders, more files than one order may show. */
const manyFiles = Array.from({ length: 10 }, (_, n) => `c${n}.md`);
const raws = [
  order('WO-01', {
    allowed_files: ['a.js'],
    forbidden: ['secrets/', 'b.js'],
    postconditions: [{ kind: 'file_exists', path: 'a.js' }],
    context_files: ['a.js', 'spec.md'],
  }),
  order('WO-02', { allowed_files: ['b.js', 'a.js'], acceptance_commands: ['node b.js', 'node --test'] }),
  order('WO-03', { allowed_files: ['a.js'], forbidden: ['b.js', 'secrets/'], context_files: manyFiles }),
];

function buildOf(values: readonly Record<string, unknown>[]): Build {
  const orders = values.map((value, at) => {
    const mends = String(value['id']).startsWith('FIX') ? { fixes: true as const } : {};
    const checked = checkOrder(
      { from: `.factory/orders/${value['id'] ?? at}.json`, value, ...mends },
      { allowExempt: false },
    );
    if ('problem' in checked) throw new Error(checked.problem);
    return checked;
  });
  const digests = Object.fromEntries(orders.map((one) => [one.order.id, one.digest]));
  const state = { version: 1 as const, digests, allow_exempt: false, head: 'c0', done: [], current: null };
  const start: Build['start'] = {
    version: 1,
    kind: 'none',
    base_commit: null,
    author: { name: 'n', email: 'e' },
    dirty: [],
    applied: {},
    submodules: [],
    first_commit: null,
    left_out: [],
  };
  return { orders, state, start };
}
const books = (it: { readonly path: string }) => ({
  workspace: it.path,
  state: orderState({}, it.path),
});
const stateIn = (it: { readonly path: string }) =>
  buildStateIn(JSON.parse(readFileSync(join(it.path, '.factory/state.json'), 'utf8')));
const failures = [{ scenario: 'a_scenario.sh', said: 'FAIL: sum\n  expected: 5\n  observed: 6' }];

describe('a FIX order', () => {
  test('may write the files of all planned orders, and has their acceptance commands', async () => {
    using it = folder();
    const made = await createFixOrder(books(it), buildOf(raws), { failures, most: 2 });
    if (!('order' in made)) throw new Error(JSON.stringify(made));
    expect(made.order).toMatchObject({
      id: 'FIX-01',
      allowed_files: ['a.js', 'b.js'],
      forbidden: ['secrets/'],
      acceptance_commands: ['node --test', 'node b.js'],
      postconditions: [{ kind: 'file_exists', path: 'a.js' }],
      context_files: ['spec.md', ...manyFiles.slice(0, 9)],
      verify_exempt: false,
    });
    expect(made.order.intent).toContain('FAIL: sum\n  expected: 5\n  observed: 6');
    expect(made.order.intent).not.toContain('a_scenario.sh');
    const digests = stateIn(it)?.digests ?? {};
    expect(Object.keys(digests)).toEqual(['WO-01', 'WO-02', 'WO-03', 'FIX-01']);
    // It is read after the orders of the plan, unchanged.
    put(it.path, { '.factory/orders/WO-01.json': JSON.stringify(raws[0]) });
    const loaded = await loadOrders(it.path, { allowExempt: false });
    if ('problem' in loaded) throw new Error(loaded.problem);
    expect(loaded.orders.map((one) => [one.order.id, one.digest === digests[one.order.id]])).toEqual([
      ['WO-01', true],
      ['FIX-01', true],
    ]);
  });

  test('is made up to the allowed number of times, each from the plan alone', async () => {
    using it = folder();
    const first = buildOf([...raws, order('FIX-01', { allowed_files: ['a.js'] })]);
    expect(await createFixOrder(books(it), first, { failures, most: 1 })).toEqual({ usedUp: 1 });
    expect(await createFixOrder(books(it), buildOf(raws), { failures, most: 0 })).toEqual({ usedUp: 0 });
    expect(await createFixOrder(books(it), first, { failures, most: 2 })).toMatchObject({
      order: { id: 'FIX-02', allowed_files: ['a.js', 'b.js'] },
    });
    const silent = [{ scenario: 'x', said: '' }];
    expect(await createFixOrder(books(it), buildOf(raws), { failures: silent, most: 2 })).toMatchObject({
      order: { intent: expect.stringContaining('A check failed without output.') },
    });
  });

  test.for([[undefined], [[]], ['text'], [[{ scenario: 'x' }]]])('is not made from %j', async ([given]) => {
    using it = folder();
    expect(await createFixOrder(books(it), buildOf(raws), { failures: given, most: 2 })).toEqual({
      problem: expect.stringContaining('judge.failures'),
    });
  });
});

test.for([
  ['WO-01', 'holds'],
  ['FIX-02', 'must agree'],
  ['FIX-1', 'not FIX-NN'],
])('a file FIX-01.json with %s is refused', async ([id]) => {
  using it = folder({
    '.factory/orders/WO-01.json': JSON.stringify(raws[0]),
    [join('.factory/orders', 'FIX-01.json')]: JSON.stringify(order(id ?? '', { allowed_files: ['a.js'] })),
  });
  expect(await loadOrders(it.path, { allowExempt: false })).toEqual({
    problem: expect.stringContaining('FIX-01.json'),
  });
});
