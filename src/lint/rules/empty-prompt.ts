/** Every agent node has a prompt or a label. */
import { present } from '../../model/attribute.ts';
import { misspeltTargets } from '../misspelt.ts';
import { finding, nodesOf, type Rule } from '../rule.ts';

export const emptyPrompt: Rule = (subject) => {
  const misspelt = misspeltTargets(subject);
  return nodesOf(subject, 'codergen')
    .filter(({ id }) => !misspelt.has(id))
    .filter(({ attrs }) =>
      ['prompt', 'prompt_file', 'label'].every((key) => present(attrs, key) === undefined),
    )
    .map(({ id, span }) =>
      finding(subject.graph, 'empty-prompt', 'warning', {
        message: `"${id}" has neither prompt nor label: its agent receives only its id`,
        span,
        fix: 'give it a prompt="…"',
      }),
    );
};
