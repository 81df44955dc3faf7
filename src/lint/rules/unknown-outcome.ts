/** Conditions compare `outcome` with existing outcomes. */
import { outcomeWord, parseCondition } from '../../dot/condition.ts';
import { spanInValue } from '../../dot/literal.ts';
import { present } from '../../model/attribute.ts';
import type { Attribute } from '../../model/graph.ts';
import { nearest } from '../../model/nearest.ts';
import { outcomeWords } from '../../model/outcome.ts';
import { finding, type Rule } from '../rule.ts';

const known: readonly string[] = outcomeWords;

export const unknownOutcome: Rule = function* ({ graph }) {
  const seen = new Set<Attribute>();
  for (const edge of graph.edges) {
    const attribute = present(edge.attrs, 'condition');
    if (attribute === undefined || edge.condition === undefined || seen.has(attribute)) continue;
    seen.add(attribute);
    const read = parseCondition(attribute.value.text);
    if (!('condition' in read)) continue;
    for (const { key, test, literal, at, length } of read.compared) {
      if (key !== 'outcome' || (test !== '=' && test !== '!=')) continue;
      if (known.includes(outcomeWord(literal))) continue;
      const meant = nearest(literal, known);
      yield finding(graph, 'unknown-outcome', 'error', {
        message: `"${literal}" is not an outcome${meant === undefined ? '' : `; the nearest is "${meant}"`}`,
        span: spanInValue(graph, attribute, at, length),
        fix: `compare outcome with one of ${known.join(', ')}; other words go into preferred_label`,
      });
    }
  }
};
