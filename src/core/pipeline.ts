/** The kind of a node: by its type, else its shape, else its id, else the default. */
import { resolve } from 'node:path';
import { allNodes, fanOutType, type Graph, isAgentType, type Node, type ParsedNode } from './graph.ts';
import type { Json } from './json.ts';
import { prefixOf, providerOf } from './providers.ts';
import { present } from './settings/types.ts';

/** The nodes that ask an agent or a model, those of called pipelines too. */
export const agentNodes = (graph: Graph): readonly Node[] =>
  [...allNodes(graph).values()].filter(({ type }) => isAgentType(type));

/** Whether a run of the graph may ask an agent. */
export const asksAgents = (graph: Graph): boolean => agentNodes(graph).length > 0;

export const backendOf = ({ settings }: Node): string => settings['agent.backend'] ?? '';

/** What a node says of its agent: nodes that say the same have the same one. Empty for the agent of the run. */
export const agentKeyOf = (node: Node): string => {
  const provider = providerOf(node.settings) || prefixOf(node.settings);
  if (provider === '') return backendOf(node);
  return [backendOf(node), `llm_provider=${provider}`].filter((word) => word !== '').join(' ');
};

/** True for pipelines with `factory order` tools: their runs have a git history. */
export function buildsHistory(graph: Graph): boolean {
  return [...allNodes(graph).values()].some((node) =>
    /^\s*factory\s+order\s/.test(node.settings.tool_command ?? ''),
  );
}

/** Whether the run has a git history: its pipeline makes commits, or it begins with a commit that was named. */
export const hasHistory = (graph: Graph, { base }: { readonly base?: string }): boolean =>
  buildsHistory(graph) || base !== undefined;

/** Whether nodes of the graph open branches or call other pipelines. */
const opensBranches = (graph: Graph): boolean =>
  graph.children !== undefined || [...allNodes(graph).values()].some(({ type }) => type === fanOutType);

/** What lists say of every run of the graph: a manifest keeps it, as a large graph takes long to read. */
export const pipelineFacts = (graph: Graph): { readonly label: string; readonly branches: boolean } => ({
  label: graph.settings.label ?? '',
  branches: opensBranches(graph),
});

/** The node where the run starts. */
export const startOf = (graph: Graph): Node => {
  const found = [...graph.nodes.values()].find((node) => node.type === 'start');
  if (found === undefined) throw new Error('Internal: no start node in a linted graph');
  return found;
};

/** The workdir to copy, absolute; undefined for `workdir="none"`. */
export function workdirOf(
  graph: Graph,
  flags: { readonly workdir?: string },
  cwd: string,
): string | undefined {
  if (flags.workdir !== undefined) return resolve(cwd, flags.workdir);
  const attribute = graph.settings.workdir;
  if (attribute === 'none') return undefined;
  return attribute === undefined ? cwd : resolve(cwd, graph.file, '..', attribute);
}

/** The graph's goal, with its type. */
export const goalOf = (graph: Graph): Json | undefined => graph.settings.goal?.value;

export type Recognised = {
  readonly type: string;
  readonly shapes: readonly string[];
  readonly ids: readonly string[];
  /** What other implementations call the type. */
  readonly aliases?: readonly string[];
};

/** The kind of `node`, or undefined if no kind has its type or shape. A plain box (or no shape) called `start`, `exit` or
 *  `end` is of the kind that its id names. */
export function kindOf<K extends Recognised>(node: ParsedNode, kinds: readonly K[]): K | undefined {
  const type = present(node.attrs, 'type')?.value.text.trim();
  if (type !== undefined) return kinds.find((k) => k.type === type || k.aliases?.includes(type) === true);
  const shape = present(node.attrs, 'shape')?.value.text.trim() ?? 'box';
  const byShape = kinds.find((k) => k.shapes.includes(shape));
  if (shape !== 'box') return byShape;
  return kinds.find((k) => k.ids.includes(node.id)) ?? byShape;
}
