/** Conditions compare `failure_class` with classes of failures. */
import { asksClass, parseCondition } from '../../core/conditions.ts';
import { nearestOf } from '../../core/nearest.ts';
import { classesIn, failureClasses } from '../../core/outcome.ts';
import { withWord } from '../../core/settings/repair.ts';
import { type Attribute, present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

const lastClass = /^(?:context\.)?last_failure\.class$/;

export const unknownClass: Rule = {
  code: 'unknown-class',
  severity: 'error',
  rule: '`failure_class` is compared with a class of failures (a warning where no class is near).',
  wrong: 'start; exit; a [label=a]; start -> a; a -> exit [condition="failure_class=produkt"]',
  fix: '`failure_class=product`',
  *check({ graph }) {
    const seen = new Set<Attribute>();
    for (const edge of graph.edges) {
      const attribute = present(edge.attrs, 'condition');
      if (attribute === undefined || seen.has(attribute) || !attribute.value.text.includes('class')) continue;
      seen.add(attribute);
      const read = parseCondition(attribute.value.text);
      for (const { key, test, literal, at, length } of 'condition' in read ? read.compared : []) {
        if (!(asksClass(key) || lastClass.test(key)) || (test !== '=' && test !== '!=') || literal === '')
          continue;
        if (failureClasses.some((known) => known === literal) || classesIn(literal) !== undefined) continue;
        const meant = nearestOf(literal, failureClasses);
        yield finding(
          graph,
          { ...unknownClass, severity: meant === undefined ? 'warning' : 'error' },
          {
            message: `"${literal}" is not a class of failures${meant === undefined ? '' : `; the nearest is "${meant}"`}`,
            span: spanInValue(graph, attribute, at, length),
            fix:
              meant === undefined
                ? `compare ${key} with one of ${failureClasses.join(', ')}`
                : `write ${key}${test}${meant}`,
            // Any class does: it is not known whether the others can occur.
            repairs: [
              {
                attribute,
                instead: withWord(attribute, { at, length }, meant ?? 'product'),
                isPlaceholder: meant === undefined,
              },
            ],
          },
        );
      }
    }
  },
};
