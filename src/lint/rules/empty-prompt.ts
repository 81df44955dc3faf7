/** An agent is told what to do. */
import { present } from '../../model/attribute.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';

export const emptyPrompt: Rule = (subject) =>
  nodesOf(subject, 'codergen')
    .filter(({ attrs }) =>
      ['prompt', 'prompt_file', 'label'].every((key) => present(attrs, key) === undefined),
    )
    .map(({ id, span }) =>
      finding(subject.graph, 'empty-prompt', 'warning', {
        message: `"${id}" has neither prompt nor label: its agent is told only its id`,
        span,
        fix: 'give it a prompt="…"',
      }),
    );
