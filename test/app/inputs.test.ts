import { expect, test } from 'vitest';
import { schemaOf } from '../../src/app/inputs.ts';
import { proposalSchemaOf } from '../../src/core/orders/proposal.ts';
import { workPlanSchema } from '../../src/core/orders/work-order.ts';

test('a response schema is a registered one, or that of a file of the run', async () => {
  const files = { '@dir/own.json': '{"type":"object"}' };
  expect(await schemaOf('work-plan', files)).toEqual({ name: 'work-plan', schema: workPlanSchema });
  expect(await schemaOf('proposal', files)).toEqual({ name: 'proposal', schema: proposalSchemaOf() });
  expect(await schemaOf('@dir/own.json', files)).toMatchObject({ schema: { type: 'object' } });
  expect(await schemaOf('nothing', files)).toBeUndefined();
});
