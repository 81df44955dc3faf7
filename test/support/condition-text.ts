/** Conditions as text, for tests that make them up. */
import type { EdgeCondition } from '../../src/core/conditions.ts';

const plain = /^[\w.:/+-]+$/;
const printLiteral = (literal: string): string =>
  plain.test(literal) ? literal : `"${literal.replace(/[\\"]/g, '\\$&')}"`;

/** The text of a condition with only the parentheses that it needs. */
export function conditionText(condition: EdgeCondition): string {
  const inner = (of: EdgeCondition, ...bare: readonly EdgeCondition['op'][]): string =>
    bare.includes(of.op) ? conditionText(of) : `(${conditionText(of)})`;
  switch (condition.op) {
    case 'truthy':
      return condition.key;
    case 'compare': {
      const spaced = /\w/.test(condition.test) ? ` ${condition.test} ` : condition.test;
      return `${condition.key}${spaced}${printLiteral(condition.literal)}`;
    }
    case 'not':
      return `!${inner(condition.of, 'truthy', 'compare', 'not')}`;
    case 'and':
      return `${inner(condition.left, 'truthy', 'compare', 'not', 'and')} && ${inner(condition.right, 'truthy', 'compare', 'not')}`;
    case 'or':
      return `${inner(condition.left, 'truthy', 'compare', 'not', 'and', 'or')} || ${inner(condition.right, 'truthy', 'compare', 'not', 'and')}`;
  }
}
