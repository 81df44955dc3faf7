/** Every rule of the stylesheet can be read. */
import { stylesheetOf } from '../../core/settings/stylesheet.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const stylesheetSyntax: Rule = {
  code: 'stylesheet-syntax',
  severity: 'error',
  rule: 'Every rule of `model_stylesheet` can be read: `SELECTOR { property: value; }`.',
  wrong: 'model_stylesheet="* { llm_model=small; }"; start; exit; a [label=a]; start -> a -> exit',
  fix: '`* { llm_model: small; }`',
  *check({ graph }) {
    const sheet = stylesheetOf(graph.attrs);
    if (sheet === undefined) return;
    for (const { at, length, message, fix } of sheet.problems)
      yield finding(graph, stylesheetSyntax, {
        message: `model_stylesheet: ${message}`,
        span: spanInValue(graph, sheet.attribute, at, Math.max(length, 1)),
        fix,
      });
  },
};
