/** An agent whose outcome decides is asked for it. */
import { isGate } from '../../core/goal-gates.ts';
import type { Node } from '../../core/graph.ts';
import { agentNodes } from '../../core/pipeline.ts';
import { testsOutcome } from '../../core/routing.ts';
import { present } from '../../core/settings/types.ts';
import { finding, type Rule, type Subject } from '../rule.ts';

export const outcomeNotAsked: Rule = {
  code: 'outcome-not-asked',
  severity: 'warning',
  rule: 'A program of the agent `command` is asked for the outcome that edges test.',
  wrong:
    'start; exit; a [label=a, agent=command, command.run=x]; start -> a; a -> exit [condition="outcome=has_dod"]',
  fix: '`response_format=json`',
  needs: 'whole graph',
  *check(subject) {
    const { graph } = subject;
    for (const node of agentNodes(subject.graph)) {
      if (!isCommand(node) || isAsked(node, subject)) continue;
      if (!testsOutcome(graph, node.id)) continue;
      yield finding(graph, outcomeNotAsked, {
        message: `edges test the outcome of "${node.id}", and its program is never asked for one: an answer without an outcome fails the node`,
        span: present(node.attrs, 'command.run')?.keySpan ?? node.span,
        fix: 'response_format=json asks for one (outcome: its word on the first line); response_via=none takes the exit code, response_format=text any answer as a success',
      });
    }
  },
};

const isCommand = ({ settings, attrs }: Node): boolean =>
  (settings['agent.backend'] ?? (attrs.has('command.run') ? 'command' : ''))
    .split(',')
    .some((name) => name.trim() === 'command');

/** By its settings, because its answer is a document, or in the words of its prompt. */
function isAsked(node: Node, { options }: Subject): boolean {
  const { response_file, response_schema, prompt_file, prompt, label } = node.settings;
  const textOf = (key: string) => present(node.attrs, key)?.value.text.trim();
  const formats = ['response_format', 'command.response_format'].map(textOf);
  if (formats.some((format) => format !== undefined && format !== 'auto')) return true;
  if ([textOf('response_via'), textOf('command.response_via')].includes('none')) return true;
  if (isGate(node) || (response_file ?? response_schema ?? prompt_file) !== undefined) return true;
  const text = (prompt ?? label ?? '').trim();
  return /\boutcome\b/i.test(options.prompts?.get(text) ?? text);
}
