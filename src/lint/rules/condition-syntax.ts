/** Every condition can be parsed. */
import { parseCondition } from '../../core/conditions.ts';
import { withWord } from '../../core/settings/repair.ts';
import { present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const conditionSyntax: Rule = {
  code: 'condition-syntax',
  severity: 'error',
  rule: 'Every condition can be parsed.',
  wrong: 'start; exit; a [label=a]; start -> a; a -> exit [condition="outcome=success and x=1"]',
  fix: '`outcome=success && x=1`',
  *check({ graph }) {
    for (const edge of graph.edges) {
      const attribute = present(edge.attrs, 'condition');
      if (attribute === undefined || edge.condition !== undefined) continue;
      const read = parseCondition(attribute.value.text);
      if ('condition' in read) continue;
      yield finding(graph, conditionSyntax, {
        message: `condition: ${read.message}`,
        span: spanInValue(graph, attribute, read.at, Math.max(read.length, 1)),
        fix:
          read.instead === undefined
            ? 'write comparisons such as outcome=success, joined by && and ||'
            : `write ${read.instead.trim()}`,
        repairs:
          read.instead === undefined ? [] : [{ attribute, instead: withWord(attribute, read, read.instead) }],
      });
    }
  },
};
