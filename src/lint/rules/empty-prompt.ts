/** Every agent node has a prompt or a label. */
import { agentNodes } from '../../core/pipeline.ts';
import { finding, type Rule } from '../rule.ts';

export const emptyPrompt: Rule = {
  code: 'empty-prompt',
  severity: 'warning',
  rule: 'Every agent has a prompt or a label.',
  wrong: 'start; exit; a; start -> a -> exit',
  fix: '`prompt="…"`',
  needs: 'whole graph',
  check: ({ graph }) =>
    agentNodes(graph)
      .filter(
        ({ settings: { prompt, prompt_file, label } }) => (prompt ?? prompt_file ?? label) === undefined,
      )
      .map(({ id, span }) =>
        finding(graph, emptyPrompt, {
          message: `"${id}" has neither prompt nor label: its agent receives only its id`,
          span,
          fix: 'give it a prompt="…"',
        }),
      ),
};
