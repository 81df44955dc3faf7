/** Every value in the stylesheet has the type of the attribute that it sets. */
import { own } from '../../core/json.ts';
import { withWord } from '../../core/settings/repair.ts';
import { stylesheetOf } from '../../core/settings/stylesheet.ts';
import type { AttributeSpec } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

export const stylesheetValue: Rule = {
  code: 'stylesheet-value',
  severity: 'error',
  rule: "Every value in `model_stylesheet` has its attribute's type.",
  wrong: 'model_stylesheet="* { reasoning_effort: hgih; }"; start; exit; a [label=a]; start -> a -> exit',
  fix: '`reasoning_effort: high`',
  *check({ graph, kinds }: Subject) {
    const sheet = stylesheetOf(graph.attrs);
    if (sheet === undefined) return;
    const { attribute } = sheet;
    for (const { properties } of sheet.rules)
      for (const { key = '', name, value, valuePlace } of properties) {
        const spec = specOf(kinds, key);
        const read = spec?.read({ kind: 'string', text: value });
        if (spec === undefined || read === undefined || read.ok) continue;
        const { meant } = read;
        yield finding(graph, stylesheetValue, {
          message: `model_stylesheet: ${name} "${value}" ${read.why}`,
          span: spanInValue(graph, attribute, valuePlace.at, valuePlace.length),
          fix: `${meant === undefined ? '' : `write ${name}: ${meant}; `}${name} takes ${spec.wants}`,
          repairs:
            meant === undefined ? [] : [{ attribute, instead: withWord(attribute, valuePlace, meant) }],
        });
      }
  },
};

function specOf(kinds: Subject['kinds'], key: string): AttributeSpec | undefined {
  for (const { attributes } of kinds) {
    const spec = own(attributes, key);
    if (spec !== undefined) return spec;
  }
  return undefined;
}
