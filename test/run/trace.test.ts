import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delta } from '../../src/core/context.ts';
import type { Context } from '../../src/core/outcome.ts';
import { completeRecords } from '../../src/run/trace.ts';

test('whatever was left out of a trace is put back', () => {
  const context = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd'),
    fc.jsonValue().map((v) => v as Context[string]),
    { maxKeys: 4 },
  );
  fc.assert(
    fc.property(
      fc.array(context, { minLength: 1, maxLength: 12 }),
      fc.array(fc.boolean(), { maxLength: 30 }),
      (states, kept) => {
        const whole: Record<string, Context[string]>[] = [];
        const thin: Record<string, Context[string]>[] = [];
        let before: Context = {};
        states.forEach((after, i) => {
          const input = { type: 'NodeInputCaptured', n: i };
          const output = {
            type: 'NodeOutputCaptured',
            n: i,
            context_delta: delta(before, after) as unknown as Context,
          };
          whole.push({ ...input, context_before: before }, { ...output, context_after: after });
          thin.push(kept[2 * i] === true ? { ...input, context_before: before } : input);
          thin.push(kept[2 * i + 1] === true ? { ...output, context_after: after } : output);
          before = after;
        });
        expect(thin.map(completeRecords())).toEqual(whole);
      },
    ),
  );
});

test('a fork is recorded with the context that it began with', () => {
  const began = { type: 'ForkLoaded', context: { a: 1, b: 2 } };
  const records = [
    began,
    { type: 'NodeInputCaptured' },
    { type: 'NodeOutputCaptured', context_delta: { added: { c: 3 }, updated: {}, removed: ['a'] } },
  ];
  expect(records.map(completeRecords()).slice(1)).toEqual([
    { ...records[1], context_before: { a: 1, b: 2 } },
    { ...records[2], context_after: { b: 2, c: 3 } },
  ]);
});
