/** Every property of the stylesheet is known. */
import { withWord } from '../../core/settings/repair.ts';
import { meantProperty, styleProperties, stylesheetOf } from '../../core/settings/stylesheet.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const stylesheetProperty: Rule = {
  code: 'stylesheet-property',
  severity: 'warning',
  rule: 'Every property in `model_stylesheet` is known.',
  wrong: 'model_stylesheet="* { llm_modell: small; }"; start; exit; a [label=a]; start -> a -> exit',
  fix: '`llm_model`',
  *check({ graph }) {
    const sheet = stylesheetOf(graph.attrs);
    if (sheet === undefined) return;
    const { attribute } = sheet;
    for (const { properties } of sheet.rules)
      for (const property of properties) {
        const { key, name } = property;
        if (key !== undefined) continue;
        const meant = meantProperty(name);
        yield finding(graph, stylesheetProperty, {
          message: `model_stylesheet: the property "${name}" is unknown${meant === undefined ? '' : `; the nearest is "${meant}"`}`,
          span: spanInValue(graph, attribute, property.at, property.length),
          fix: meant === undefined ? `the properties are ${styleProperties.join(', ')}` : `write ${meant}`,
          repairs: meant === undefined ? [] : [{ attribute, instead: withWord(attribute, property, meant) }],
        });
      }
  },
};
