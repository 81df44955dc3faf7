/** Values are inserted into commands as quoted words, so references must not be inside quotes. */
import { isInItem } from '../../core/for-each.ts';
import { mayLackGoal, quotedReferences } from '../../core/references.ts';
import { present } from '../../core/settings/types.ts';
import { spanInValue } from '../../dot/literals.ts';
import { finding, type Rule } from '../rule.ts';

export const quotedReference: Rule = {
  code: 'quoted-reference',
  severity: 'error',
  rule: 'References in commands are not inside quotes: values are quoted automatically.',
  wrong: 'goal=g; start; exit; a [shape=parallelogram, tool_command="cat \\"$goal\\""]; start -> a -> exit',
  fix: 'remove the quotes',
  *check({ graph }) {
    const hasGoal = graph.settings.goal !== undefined;
    for (const node of graph.nodes.values()) {
      const command = present(node.attrs, 'tool_command');
      if (command === undefined) continue;
      for (const reference of quotedReferences(command.value.text, isInItem(graph, node.id))) {
        const { written, at, length } = reference;
        if (mayLackGoal(reference) && !hasGoal) continue;
        const isEscaped = command.value.text[at - 1] === '\\';
        yield finding(graph, quotedReference, {
          message: `${written} is ${isEscaped ? 'after a backslash' : 'inside quotes'}, but its value is quoted already`,
          span: spanInValue(graph, command, at, length),
          fix: `${isEscaped ? 'remove the backslash' : 'close the quotes before it'}: a value is always one word`,
        });
      }
    }
  },
};
