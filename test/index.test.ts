/** The library as its users import it. */
import { expect, test } from 'vitest';
import { workOrderSchema, workPlanSchema } from '../src/core/orders/work-order.ts';
import { checkPlan } from '../src/planner/compile.ts';
import { emit } from '../src/planner/emit.ts';
import { isError, toDiagnostic } from '../src/planner/findings.ts';

const order = {
  id: 'WO-01',
  title: 'Greet',
  intent: 'A greeting.',
  preconditions: [],
  postconditions: [{ kind: 'file_exists', path: 'hello.mjs' }],
  allowed_files: ['./hello.mjs'],
  forbidden: [],
  acceptance_commands: ['node hello.mjs'],
  context_files: ['hello.mjs'],
  notes: null,
};
const answer = (more: object = {}) =>
  JSON.stringify({ system_overview: [], verify_contract: null, work_orders: [{ ...order, ...more }] });

test('a checked plan becomes work orders that read by the exported schema', () => {
  const { plan, findings } = checkPlan(answer(), { repoFiles: [] });
  expect(findings.filter(isError)).toEqual([]);
  if (plan === undefined) throw new Error('the plan is valid');
  const { orders, manifestSha256 } = emit(plan, [], { plannerRunId: 'me', compileHash: 'h' });
  expect(orders.map((written) => workOrderSchema().parse(written).allowed_files)).toEqual([['hello.mjs']]);
  expect(orders[0]?.['provenance']).toMatchObject({ planner_run_id: 'me', manifest_sha256: manifestSha256 });
});

test('each problem of an answer has a code, a place and a fix', () => {
  const { plan, findings } = checkPlan(answer({ acceptance_commands: ['a | b'] }), { repoFiles: [] });
  expect(plan).toBeUndefined();
  expect(findings).toMatchObject([{ code: 'E003', wo_id: 'WO-01', field: 'acceptance_commands' }]);
  expect(findings.map(toDiagnostic)).toMatchObject([
    { severity: 'error', fix: expect.stringMatching(/shell/) },
  ]);
});

test('the schema for a model asks for exactly the keys that an order is read by', () => {
  const asked = JSON.parse(JSON.stringify(workPlanSchema)).properties.work_orders.items.required;
  expect(asked.toSorted()).toEqual(
    Object.keys(workOrderSchema().shape)
      .filter((key) => key !== 'verify_exempt')
      .sort(),
  );
});
