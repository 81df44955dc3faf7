/** Values come into a command as quoted words, so a reference in it must not stand inside quotes. */
import { quotedReferences } from '../../dot/expand.ts';
import { spanInValue } from '../../dot/literal.ts';
import { present } from '../../model/attribute.ts';
import { finding, type Rule } from '../rule.ts';

export const quotedReference: Rule = function* ({ graph }) {
  const hasGoal = present(graph.attrs, 'goal') !== undefined;
  for (const node of graph.nodes.values()) {
    const command = present(node.attrs, 'tool_command');
    if (command === undefined) continue;
    for (const { written, at, length } of quotedReferences(command.value.text)) {
      if (written === '$goal' && !hasGoal) continue;
      const isEscaped = command.value.text[at - 1] === '\\';
      yield finding(graph, 'quoted-reference', 'error', {
        message: `${written} stands ${isEscaped ? 'behind a backslash' : 'inside quotes'}, and its value is quoted already`,
        span: spanInValue(graph, command, at, length),
        fix: `${isEscaped ? 'take the backslash away' : 'close the quotes before it'}: a value is always one word`,
      });
    }
  }
};
