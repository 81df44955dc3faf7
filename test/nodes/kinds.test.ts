/** What the kinds of nodes declare, as readers of records know it by the type. */
import { expect, test } from 'vitest';
import { isExecutableType } from '../../src/core/graph.ts';
import { nodeKinds } from '../../src/nodes/index.ts';

test('a type is executable for readers of records where its kind is', () => {
  for (const { type, executable } of nodeKinds({})) expect(isExecutableType(type), type).toBe(executable);
});
