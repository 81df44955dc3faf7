/** The graph's `vars` are names with defaults. */
import { parseVars } from '../../core/references.ts';
import { present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const varsSyntax: Rule = {
  code: 'vars-syntax',
  severity: 'error',
  rule: '`vars` reads `name=value, …`; a name alone must be set by every run.',
  wrong: 'vars="a=1, 1b"; start; exit; start -> exit',
  fix: '`vars="a=1, b"`',
  check: ({ graph }) => {
    const attribute = present(graph.attrs, 'vars');
    if (attribute === undefined) return [];
    return parseVars(attribute.value.text).problems.map(({ message, at, length }) =>
      finding(graph, varsSyntax, {
        message,
        span: spanInValue(graph, attribute, at, length),
        fix: 'write vars="name=default, other=@file.md"',
      }),
    );
  },
};
