/** The prompt for an agent: the node's prompt, then the last failure, then the commands that verification allows. */
import { fidelityOf, givenByEdge, isContinued } from '../core/fidelity.ts';
import { type Graph, isAgentType, type Node } from '../core/graph.ts';
import type { Context } from '../core/outcome.ts';
import { withoutTrailingNewlines } from '../core/sent-prompt.ts';
import { isGoalGate } from '../core/settings/node.ts';

/** The prompt with a section about the last failure; unchanged without one. */
export function withFeedback(prompt: string, context: Context): string {
  const summary = context['last_failure.summary'];
  if (typeof summary !== 'string' || summary.trim() === '') return prompt;
  const reason = context['last_failure.reason'];
  const lines = [
    withoutTrailingNewlines(prompt),
    '',
    'Failure feedback (from the stage that failed last):',
    `- failed_node: ${String(context['last_failure.node_id'] ?? '')}`,
    ...(typeof reason === 'string' && reason !== '' ? [`- failure_reason: ${reason}`] : []),
    '- details:',
    summary,
  ];
  return lines.join('\n');
}

/** The prompt with what branches that have met hand on; unchanged without any. */
export const withBranches = (prompt: string, branches: string): string =>
  branches === '' ? prompt : `${withoutTrailingNewlines(prompt)}\n\n${branches}`;

/** The prompt with the request for a goal gate's verdict; `criterion`: when the goal is reached; `missed`: why the answer to the
 *  same prompt gave none. */
export const withVerdict = (
  prompt: string,
  criterion: string | undefined,
  missed: string | undefined,
): string =>
  [
    withoutTrailingNewlines(prompt),
    '',
    ...(criterion === undefined ? [] : [`The goal is reached if this holds: ${criterion}`]),
    'Your answer decides whether the run has reached its goal. End it with one JSON object, and nothing after it:',
    '{"outcome": "success"} if the goal is reached, else {"outcome": "fail", "failure_reason": "what is missing"}.',
    ...(missed === undefined ? [] : [`Your last answer did not count: ${missed}.`]),
  ].join('\n');

/** The prompt with the commands that a later verification node would accept; unchanged without one. */
export function withAllowlist(prompt: string, graph: Graph, node: Node): string {
  const commands = allowedCommands(graph, node);
  if (commands.length === 0) return prompt;
  return [
    withoutTrailingNewlines(prompt),
    '',
    'Verification plan command allowlist (a command is accepted when it is one of these or begins with one):',
    ...commands.map((command) => `- ${command}`),
    'Put nothing else into `verification_plan.commands`.',
  ].join('\n');
}

/** Whether the agent of the node is sent what is in a file of the workspace, notes of people aside, and continues no conversation. What
 *  a join may add is not known before: `branch_summary`. */
export function sendsFileAlone(graph: Graph, node: Node): boolean {
  const { prompt_file: file, prompt_expand: expands, failure_feedback: feeds, ...settings } = node.settings;
  if (!isAgentType(node.type) || file === undefined || expands || feeds || isGoalGate(settings)) return false;
  const isAlone = (given: Parameters<typeof fidelityOf>[1]) => fidelityOf(node, given) === undefined;
  const arrivals = graph.edges.filter(({ to }) => to === node.id).map(givenByEdge);
  return (
    [{}, ...arrivals].every(isAlone) && !isContinued(graph, node) && allowedCommands(graph, node).length === 0
  );
}

/** The node's own list without duplicates; else the sorted union over the verification nodes that are reachable without
 *  passing another one. `@plan`, commands that a tool decides, is left out. */
function allowedCommands(graph: Graph, node: Node): readonly string[] {
  const own = commandsOf(node);
  if (own.length > 0) return [...new Set(own)];
  const next = new Map<string, string[]>();
  for (const edge of graph.edges) next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to]);
  const found = new Set<string>();
  const seen = new Set([node.id]);
  const open = [...(next.get(node.id) ?? [])];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    const at = graph.nodes.get(id);
    if (at?.type === 'verification') {
      for (const command of commandsOf(at)) found.add(command);
    } else {
      open.push(...(next.get(id) ?? []));
    }
  }
  return [...found].sort();
}

const commandsOf = ({ settings }: Node): readonly string[] =>
  (settings['verification.allowed_commands'] ?? []).filter((command) => command !== '@plan');
