import { join } from 'node:path';
import { expect, test } from 'vitest';
import { canonicalHash, type JsonObject } from '../../src/core/json.ts';
import { judgeExemption, loadOrders } from '../../src/run/orders.ts';
import { folder, put } from '../builder/support.ts';

const order = { id: 'WO-01', title: 'Begin', verify_exempt: true };
const plan = { system_overview: ['é'], verify_contract: null, work_orders: [order] };
const signature = {
  planner_run_id: 'R',
  compile_hash: 'c',
  manifest_sha256: canonicalHash(plan),
  bootstrap: true,
};
const signed = { ...order, provenance: signature };
const manifest = JSON.stringify({ ...plan, work_orders: [signed] });
const judge = (raw: JsonObject, dir: string, allowed = false) =>
  judgeExemption(raw, join(dir, 'WO-01.json'), { allowed });

test('an order that the signed manifest next to it contains is exempt', async () => {
  using it = folder({ 'WORK_ORDERS_MANIFEST.json': manifest });
  expect(await judge(signed, it.path)).toEqual({ ok: true });
});

test.for<[string, JsonObject, string | undefined, RegExp]>([
  ['an order that was edited', { ...signed, title: 'Other' }, manifest, /does not contain it unchanged/],
  ['a manifest that was edited', signed, manifest.replace('Begin', 'Other'), /not the one/],
  ['no manifest to check a hash by', signed, undefined, /no WORK_ORDERS_MANIFEST/],
  [
    'a manifest and no hash',
    { ...order, provenance: { planner_run_id: 'R', bootstrap: true } },
    manifest,
    /not the one/,
  ],
  ['a manifest that is not JSON', signed, '{', /cannot be read/],
  ['no provenance', order, manifest, /without a planner/],
  [
    'a flag that is a text',
    { ...order, provenance: { ...signature, bootstrap: 'true' } },
    manifest,
    /without a planner/,
  ],
  [
    'no planner run',
    { ...order, provenance: { ...signature, planner_run_id: '' } },
    manifest,
    /without a planner/,
  ],
])('%s is refused, and a flag allows it', async ([, raw, beside, why]) => {
  using it = folder(beside === undefined ? {} : { 'WORK_ORDERS_MANIFEST.json': beside });
  expect(await judge(raw, it.path)).toEqual({ problem: expect.stringMatching(why) });
  expect(await judge(raw, it.path)).toEqual({ problem: expect.stringContaining('--allow-verify-exempt') });
  expect(await judge(raw, it.path, true)).toEqual({ ok: true });
});

test('an order without a recorded hash is accepted, with a note', async () => {
  using it = folder();
  const old = { ...order, provenance: { planner_run_id: 'R', bootstrap: true } };
  expect(await judge(old, it.path)).toEqual({ ok: true, note: expect.stringContaining('cannot be checked') });
});

test.for(['.factory/in/plan.json', '.factory/orders/WORK_ORDERS_MANIFEST.json'])(
  'a build exempts no order of a plan that was edited after it was signed: %s',
  async (place) => {
    const shape = { intent: 'i', allowed_files: ['f'], forbidden: [], acceptance_commands: ['true'] };
    const orders = ['WO-01', 'WO-02'].map((id) => ({
      ...{ id, title: id, ...shape, context_files: [] },
      verify_exempt: id === 'WO-01',
    }));
    const contract = { command: 'bash scripts/verify.sh' };
    const whole = { system_overview: [], verify_contract: contract, work_orders: orders };
    const sign = (list: readonly JsonObject[]) =>
      list.map((one) => ({
        ...one,
        provenance: {
          ...signature,
          manifest_sha256: canonicalHash(whole),
          bootstrap: one['verify_exempt'] === true,
        },
      }));
    const files = (list: readonly JsonObject[]) => ({
      [place]: JSON.stringify({ ...whole, work_orders: list }),
      ...(place.includes('orders')
        ? Object.fromEntries(list.map((one) => [`.factory/orders/${one['id']}.json`, JSON.stringify(one)]))
        : {}),
    });
    using it = folder(files(sign(orders)));
    expect(await loadOrders(it.path, { allowExempt: false })).toHaveProperty('orders');
    put(it.path, files(sign(orders.map((one) => ({ ...one, verify_exempt: true })))));
    expect(await loadOrders(it.path, { allowExempt: false })).toEqual({
      problem: expect.stringMatching(
        /^WO-01 asks not to be verified .* is not the one that the planner signed/,
      ),
    });
    expect(await loadOrders(it.path, { allowExempt: true })).toHaveProperty('orders');
  },
);
