/** A key that is never set is always empty: reports keys that are probably misspelt. */
import { type KeyNamed, parseCondition } from '../../core/conditions.ts';
import { nearest } from '../../core/nearest.ts';
import { outcomeOf } from '../../core/outcome.ts';
import { withWord } from '../../core/settings/repair.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

const words = ['outcome', 'preferred_label', 'failure_class'];

/** The key that was probably meant: one of the outcome, or `context.x` for the `${ctx.x}` of prompts. */
export function meantBy({ key, at, length }: KeyNamed, text: string): string | undefined {
  if (words.includes(key)) return undefined;
  // `condition="fail"`
  if (outcomeOf(key) !== undefined && /^\s*(?:$|&&|\|\||\))/.test(text.slice(at + length)))
    return `outcome=${key}`;
  if (key.startsWith('ctx.')) return `context.${key.slice('ctx.'.length)}`;
  return nearest(key, words);
}

export const conditionKey: Rule = {
  code: 'condition-key',
  severity: 'warning',
  rule: 'No key of a condition is a misspelt `outcome`, `preferred_label` or `failure_class`.',
  wrong: 'start; exit; a [label=a]; start -> a; a -> exit [condition="outcom=success"]',
  fix: '`outcome=success`; context keys are `context.x` or `x`',
  *check({ graph }) {
    const seen = new Set<Attribute>();
    // Most edges of a graph share a few conditions.
    const slips = new Map<string, readonly KeyNamed[]>();
    for (const edge of graph.edges) {
      const attribute = present(edge.attrs, 'condition');
      if (attribute === undefined || edge.condition === undefined || seen.has(attribute)) continue;
      seen.add(attribute);
      const { text } = attribute.value;
      const found = slips.get(text) ?? slipsIn(text);
      slips.set(text, found);
      for (const named of found) {
        const meant = meantBy(named, text) ?? '';
        yield finding(graph, conditionKey, {
          message: `"${named.key}" is an ordinary context key, which is empty unless a node sets it`,
          span: spanInValue(graph, attribute, named.at, named.length),
          fix: `write ${meant}`,
          repairs: [{ attribute, instead: withWord(attribute, named, meant) }],
        });
      }
    }
  },
};

function slipsIn(text: string): readonly KeyNamed[] {
  const read = parseCondition(text);
  return 'condition' in read ? read.keys.filter((named) => meantBy(named, text) !== undefined) : [];
}
