/** What a node does, in one line for people. */
import { modelOf } from './escalation.ts';
import { isAgentType, type Node } from './graph.ts';
import type { Context } from './outcome.ts';

/** Characters of a command that lists show. */
const longest = 200;

/** Its command, its model or its label; empty without any, and for an agent with the model of its run. */
export function workWords(node: Node, context: Context): string {
  const { type, settings } = node;
  if (type === 'tool') return labelled(settings, (settings.tool_command ?? '').trim().split('\n')[0] ?? '');
  if (isAgentType(type)) return modelOf(node, context)?.model ?? settings.llm_model?.join(', ') ?? '';
  const key = settings['verification.plan_context_key'];
  const plan: unknown = key === undefined ? undefined : context[key];
  const commands = typeof plan === 'object' && plan !== null && 'commands' in plan ? plan.commands : [];
  return labelled(settings, Array.isArray(commands) ? String(commands[0] ?? '') : '');
}

/** The steps of our own pipelines say more by their labels. */
const labelled = ({ label = '' }: Node['settings'], command: string): string =>
  (command === '' || (label !== '' && /^factory\s/.test(command)) ? label : command).slice(0, longest);
