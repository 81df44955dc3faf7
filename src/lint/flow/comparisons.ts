/** Sample values of the keys in conditions. */
import type { EdgeCondition, Operator } from '../../core/conditions.ts';

/** One comparison of a key. */
export type Comparison = { readonly test: Operator | 'truthy'; readonly literal: string };

/** The name of a key in the context: `context.x` is `x`. */
export const contextKey = (key: string): string => key.replace(/^context\./, '');

/** The comparisons of each key in `condition`, added to `found`. */
export function comparisons(condition: EdgeCondition, found: Map<string, Comparison[]>): void {
  switch (condition.op) {
    case 'not':
      comparisons(condition.of, found);
      return;
    case 'and':
    case 'or':
      comparisons(condition.left, found);
      comparisons(condition.right, found);
      return;
    default: {
      const key = contextKey(condition.key);
      const one: Comparison =
        condition.op === 'truthy'
          ? { test: 'truthy', literal: '' }
          : { test: condition.test, literal: condition.literal };
      found.set(key, [...(found.get(key) ?? []), one]);
    }
  }
}

const numeric = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

/** The values, the empty one first. `sure` is false if a comparison (a regular expression, an order of words, several
 *  `contains`) may have a result that occurs with none of them. A key that is compared with numbers is a number. */
export function valuesFor(compared: readonly Comparison[]): {
  readonly values: readonly string[];
  readonly sure: boolean;
} {
  const literals = (...tests: readonly Comparison['test'][]) => [
    ...new Set(compared.filter(({ test }) => tests.includes(test)).map(({ literal }) => literal)),
  ];
  const parts = literals('contains');
  const orders = literals('<', '<=', '>', '>=');
  const numbers = orders.filter((literal) => numeric.test(literal)).map(Number);
  const values = new Set(['', ...literals('=', '!='), ...parts, parts.join(' '), ...around(numbers)]);
  if (literals('truthy').length > 0) values.add('true').add('false');
  let other = 'other';
  while (values.has(other)) other += '_';
  values.add(other);
  const sure = parts.length < 3 && numbers.length === orders.length && literals('matches').length === 0;
  return { values: [...values], sure };
}

/** Each number, one in every gap between them, one below and one above. */
function around(numbers: readonly number[]): readonly string[] {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted
    .flatMap((n, i) => [n - 1, n, n + 1, (n + (sorted[i + 1] ?? n)) / 2])
    .filter((n) => !Number.isNaN(n))
    .map(String);
}
