/** The graph's `vars` are names with defaults, its `inputs` names. */
import { present } from '../../core/settings/types.ts';
import { parseVars } from '../../core/variables.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const varsSyntax: Rule = {
  code: 'vars-syntax',
  severity: 'error',
  rule: '`vars` reads `name=value, …`; a name alone must be set by every run.',
  wrong: 'vars="a=1, 1b"; start; exit; start -> exit',
  fix: '`vars="a=1, b"`',
  check: ({ graph }) => {
    return ['vars', 'inputs'].flatMap((key) => {
      const attribute = present(graph.attrs, key);
      if (attribute === undefined) return [];
      return parseVars(attribute.value.text).problems.map(({ message, at, length }) =>
        finding(graph, varsSyntax, {
          message,
          span: spanInValue(graph, attribute, at, length),
          fix: key === 'vars' ? 'write vars="name=default, other=@file.md"' : 'write inputs="name, other"',
        }),
      );
    });
  },
};
