/** Texts that a key of conditions may hold, such that every way in which its comparisons can come out is among them. */
import type { Condition, Operator } from '../../model/condition.ts';

export type Comparison = { readonly test: Operator | 'truthy'; readonly literal: string };

/** A key as the context has it: `context.x` is `x`, but where that is a word of the router's. */
export function contextKey(key: string): string {
  if (!key.startsWith('context.')) return key;
  const bare = key.slice('context.'.length);
  return bare === 'preferred_label' || bare === 'failure_class' ? key : bare;
}

/** The comparisons of each key in `condition`, added to `found`. */
export function comparisons(condition: Condition, found: Map<string, Comparison[]>): void {
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
      const one: Comparison =
        condition.op === 'truthy'
          ? { test: 'truthy', literal: '' }
          : { test: condition.test, literal: condition.literal };
      const key = contextKey(condition.key);
      const same = found.get(key);
      if (same === undefined) found.set(key, [one]);
      else same.push(one);
    }
  }
}

const numeric = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;
const most = 4;

/** The texts, the empty one first. `sure` is false where a comparison (a regular expression, an order of words) might
 *  come out in a way that none of them shows. A key that is compared with numbers by order is taken for a number, or for
 *  a text that some other comparison names. */
export function valuesFor(compared: readonly Comparison[]): {
  readonly values: readonly string[];
  readonly sure: boolean;
} {
  const values = new Set(['']);
  let sure = true;
  const literals = (...tests: readonly Comparison['test'][]) => [
    ...new Set(compared.filter(({ test }) => tests.includes(test)).map(({ literal }) => literal)),
  ];
  for (const literal of literals('=', '!=')) values.add(literal);
  if (compared.some(({ test }) => test === 'truthy')) values.add('true').add('false');
  const parts = literals('contains');
  for (const text of unions(parts.slice(0, most))) values.add(text);
  if (parts.length > most) sure = false;
  const orders = literals('<', '<=', '>', '>=');
  const numbers = orders.filter((literal) => numeric.test(literal)).map(Number);
  for (const n of around(numbers)) values.add(String(n));
  if (numbers.length < orders.length) {
    sure = false;
    for (const literal of orders) for (const text of [literal, `${literal}a`, 'A', 'zz']) values.add(text);
  }
  const patterns = literals('matches');
  if (patterns.length > 0) sure = false;
  for (const pattern of patterns) for (const text of samples(pattern)) values.add(text);
  let other = 'other';
  while (values.has(other)) other += '_';
  values.add(other);
  return { values: [...values], sure };
}

/** Every choice of some of `parts`, joined. */
function unions(parts: readonly string[]): readonly string[] {
  const found: string[] = [];
  for (let chosen = 1; chosen < 1 << parts.length; chosen++)
    found.push(parts.filter((_, i) => (chosen & (1 << i)) !== 0).join(' '));
  return found;
}

/** Each number, one in every gap between them, one below and one above. */
function around(numbers: readonly number[]): readonly number[] {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  return sorted.flatMap((n, i) => {
    const next = sorted[i + 1];
    const above = next === undefined || n + 1 < next ? n + 1 : (n + next) / 2;
    return i === 0 ? [n - 1, n, above] : [n, above];
  });
}

/** Texts that simple patterns match: their alternatives without anchors, groups and repetitions. */
function samples(pattern: string): readonly string[] {
  const plain = pattern
    .replace(/\\d[+*]?/g, '1')
    .replace(/\\w[+*]?/g, 'a')
    .replace(/\.[+*]?/g, 'x')
    .replace(/\[([^\]^])[^\]]*\][+*]?/g, '$1')
    .replace(/\\(.)/g, '$1');
  const bare = plain.replace(/[\^$]/g, '');
  return [bare, bare.replace(/[()]/g, ''), ...bare.split(/[|()]/)].filter((text) => text !== '');
}
