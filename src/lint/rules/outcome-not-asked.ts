/** An agent whose outcome decides is asked for it. */
import { present } from '../../model/attribute.ts';
import { isGate } from '../../model/goal-gate.ts';
import type { Node } from '../../model/graph.ts';
import { testsOutcome } from '../../model/tested.ts';
import { finding, nodesOf, type Rule, type Subject } from '../rule.ts';

export const outcomeNotAsked: Rule = function* (subject) {
  const { graph, kindOf } = subject;
  for (const node of nodesOf(subject, 'codergen')) {
    if (!isCommand(node) || isAsked(node, subject)) continue;
    if (!testsOutcome(graph, node.id, ({ id }) => kindOf.get(id)?.type === 'conditional')) continue;
    yield finding(graph, 'outcome-not-asked', 'warning', {
      message: `edges test the outcome of "${node.id}", and its program is never asked for one: an answer without an outcome fails the node`,
      span: present(node.attrs, 'command.run')?.keySpan ?? node.span,
      fix: 'response_format=json asks for one (outcome: its word on the first line); response_via=none takes the exit code, response_format=text any answer as a success',
    });
  }
};

const isCommand = (node: Node): boolean =>
  (present(node.attrs, 'agent.backend')?.value.text ?? (present(node.attrs, 'command.run') ? 'command' : ''))
    .split(',')
    .some((name) => name.trim() === 'command');

/** By its settings, because its answer is a document, or in the words of its prompt. */
function isAsked(node: Node, { options }: Subject): boolean {
  const said = (key: string) => present(node.attrs, key)?.value.text.trim();
  const settings = ['response_format', 'command.response_format'].map(said);
  if (settings.some((format) => format !== undefined && format !== 'auto')) return true;
  if ([said('response_via'), said('command.response_via')].includes('none')) return true;
  if (isGate(node)) return true;
  if (['response_file', 'response_schema', 'prompt_file'].some((key) => said(key) !== undefined)) return true;
  const prompt = said('prompt') ?? said('label') ?? '';
  return /\boutcome\b/i.test(options.prompts?.get(prompt) ?? prompt);
}
