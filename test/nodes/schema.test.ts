import { expect, test } from 'vitest';
import { schemaProblem } from '../../src/nodes/schema.ts';

const schema = {
  type: 'object',
  required: ['a'],
  properties: { a: { type: 'array', items: { type: 'integer' } } },
};

test.for([
  ['{"a":[1,2],"b":"more"}', undefined],
  ['{"a":[1,"2"]}', /^a\.1: .*expected number/],
  ['{}', /^a: /],
  ['[]', /^top level: .*expected object/],
  ['{"a":', /^it is not JSON \(/],
  ['Here: {"a":[1]}', /^it is not JSON \(/],
  [`{"a":[${'['.repeat(5000)}${']'.repeat(5000)}]}`, /^it is not JSON \(it has more than 900 levels/],
] as const)('an answer is validated against its schema: %#', ([answer, why]) => {
  const problem = schemaProblem(answer, schema);
  if (why === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(why);
});
