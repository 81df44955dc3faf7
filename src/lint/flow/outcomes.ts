/** The possible outcomes of each node type, after retries. */
import type { EdgeCondition, Operator } from '../../core/conditions.ts';
import type { Node } from '../../core/graph.ts';
import { type FailureClass, failureClasses, type OutcomeWord } from '../../core/outcome.ts';

export type Giving = {
  readonly key: string;
  readonly status: OutcomeWord;
  readonly broke: boolean;
  /** The node may report a preferred label, suggested ids and context keys. */
  readonly says: boolean;
  /** Classes that a failure may have, the simplest first. */
  readonly classes: readonly FailureClass[];
  /** Authors must expect this outcome; a tool or an agent reports others only if it is written to do so. */
  readonly usual: boolean;
};

const giving = (status: OutcomeWord, more: Partial<Giving> = {}): Giving => {
  const made = { status, broke: false, says: false, classes: [], usual: true, ...more };
  const key = [status, made.broke ? 'broke' : '', made.says ? 'says' : '', made.classes[0] ?? ''].join(' ');
  return { ...made, key };
};
const unusual = (of: Giving): Giving => ({ ...of, usual: false });

/** Classes that no agent can fix: they come last, so that example runs can continue. */
const unfixable: readonly FailureClass[] = ['config', 'infra', 'scenario'];
const anyClass = (first: FailureClass): readonly FailureClass[] => [
  first,
  ...failureClasses.filter((c) => ![first, ...unfixable, 'cancelled', 'internal'].includes(c)),
  ...unfixable,
];

/** The outcome of a start, and of an exit that sends a run back. */
export const success = giving('success');
const said = giving('success', { says: true });
const partial = giving('partial_success', { says: true });
const skipped = unusual(giving('skipped', { says: true }));
const command = ['product', 'guardrail', ...unfixable] as const;
const broken = giving('fail', { broke: true, classes: ['timeout', ...command] });

const verification = [success, giving('fail', { classes: command }), broken];
const tool = [said, giving('fail', { says: true, classes: anyClass('product') }), broken, skipped];
const agent = [
  said,
  // An agent reports no class.
  giving('fail', { says: true, classes: ['product', 'guardrail'] }),
  giving('fail', { broke: true, classes: anyClass('agent') }),
];
const unknown = [...agent, partial, skipped, giving('retry', { says: true })].map(unusual);

/** The possible outcomes of a node of the kind `type`, the simplest first; a conditional passes its outcome on. `retry`
 *  is never among them: exhausted retries end in failure, or in partial success with `allow_partial`. */
export function givingsOf(node: Node): readonly Giving[] {
  const { allow_partial: partly, response_schema: schema } = node.settings;
  switch (node.type) {
    case 'start':
    case 'exit':
      return [success];
    case 'verification':
      return verification;
    case 'tool':
      return [...tool, partly ? partial : unusual(partial)];
    case 'codergen':
      // An agent that must answer in a given form reports nothing else.
      return [...agent, partly || schema === undefined ? partial : unusual(partial)];
    default:
      return unknown;
  }
}

/** Sample values of a key in conditions, such that every result of its comparisons occurs. */
export type Comparison = { readonly test: Operator | 'truthy'; readonly literal: string };

/** The name of a key in the context: `context.x` is `x`, unless that is a key of the router. */
export function contextKey(key: string): string {
  if (!key.startsWith('context.')) return key;
  const bare = key.slice('context.'.length);
  return bare === 'preferred_label' || bare === 'failure_class' ? key : bare;
}

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
