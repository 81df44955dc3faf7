/** Context keys for the latest answer and output under the names of other implementations. The engine sets them only where a graph
 *  names them, so that other runs do not carry answers along. */
import type { EdgeCondition } from './conditions.ts';
import { type Graph, isAgentType, writtenId } from './graph.ts';
import { contextKeysIn } from './references.ts';

/** The key under which the latest answer of a node is. */
export const answerKey = (node: string): string => `response.${node}`;

/** Keys about the latest tool. */
export const latestOfTool: readonly string[] = ['command.output', 'tool_stderr'];

/** Keys that are not about one node. */
export const latestKeys: readonly string[] = ['last_stage', 'last_response', ...latestOfTool];

const known = new WeakMap<Graph, ReadonlySet<string>>();

/** The keys that a condition, a prompt, a command or another text of the graph names; `prompts`: the texts of prompt files. */
export function latestKeysIn(graph: Graph, prompts: Readonly<Record<string, string>>): ReadonlySet<string> {
  const before = known.get(graph);
  if (before !== undefined) return before;
  const answers = [...graph.nodes.values()]
    .filter(({ type }) => isAgentType(type))
    .map(({ id }) => answerKey(writtenId(graph, id)));
  const all = new Set([...latestKeys, ...answers]);
  const named = new Set([...keysNamed(graph, prompts)].filter((key) => all.has(key)));
  known.set(graph, named);
  return named;
}

function* keysNamed(graph: Graph, prompts: Readonly<Record<string, string>>): Generator<string> {
  for (const { condition } of graph.edges) if (condition !== undefined) yield* keysOf(condition);
  yield* graph.call?.node.settings.returns ?? [];
  const elements = [graph, ...graph.nodes.values(), ...graph.edges];
  const written = elements.flatMap(({ attrs }) => [...attrs.values()].map(({ value }) => value.text));
  for (const text of [...written, ...Object.values(prompts)]) yield* contextKeysIn(text);
}

function* keysOf(condition: EdgeCondition): Generator<string> {
  switch (condition.op) {
    case 'compare':
    case 'truthy':
      yield condition.key.replace(/^context\./, '');
      return;
    case 'not':
      yield* keysOf(condition.of);
      return;
    default:
      yield* keysOf(condition.left);
      yield* keysOf(condition.right);
  }
}
