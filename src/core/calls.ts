/** Calls: nodes that run another pipeline. What they say of it, and the pipelines in their places in a run. Pure. */
import { isAbsolute, posix } from 'node:path';
import { asText, inputKey } from './context.ts';
import { type Edge, type Graph, graphsIn, idInRun, managerType, type Node, subgraphType } from './graph.ts';
import { own, put } from './json.ts';
import { startOf } from './pipeline.ts';
import type { Cursor, OpenedFork } from './records/fork.ts';
import type { expand, ReferenceMode } from './references.ts';
import { inputPrefixes } from './settings/calls.ts';
import { graphLimits } from './settings/limits.ts';
import { type Attribute, type Attributes, present } from './settings/types.ts';
import { withGraphSettings, withNodeSettings } from './settings/typing.ts';
import { variablesOf } from './variables.ts';

/** Whether nodes of this type call another pipeline. */
export const isCallType = (type: string): boolean => type === subgraphType || type === managerType;

/** The nodes of a graph that call another pipeline. */
export const callsIn = (graph: Graph): readonly Node[] =>
  [...graph.nodes.values()].filter(({ type }) => isCallType(type));

/** How many pipelines may call each other in a row. */
export const deepestCall = 10;

/** The attributes that name the pipeline of a call, of the graph where the node has none. */
export function fileAttributes(graph: Graph, node: Node): readonly Attribute[] {
  const keys =
    node.type === subgraphType
      ? ['graph_ref', 'pipeline']
      : ['stack.child_dotfile', 'stack.child_workflow', 'child_graph'];
  const ofNode = keys.flatMap((key) => present(node.attrs, key) ?? []);
  const ofGraph = node.type === managerType ? present(graph.attrs, 'stack.child_dotfile') : undefined;
  return ofNode.length > 0 || ofGraph === undefined ? ofNode : [ofGraph];
}

/** The path of the called pipeline as its caller's author wrote it; undefined where a call names none, or several. */
export function fileOfCall(graph: Graph, node: Node): string | undefined {
  const [named, another] = fileAttributes(graph, node);
  return another === undefined ? named?.value.text.trim() : undefined;
}

/** The place of a file that a pipeline names, relative to the folder of the run's own pipeline: `from` is the place of the pipeline. */
const placeOfFile = (from: string, written: string): string =>
  isAbsolute(written) ? written : posix.normalize(posix.join(posix.dirname(from), written));

/** An input that a call hands to its pipeline, with references that are not expanded yet. */
export type CallInput = { readonly name: string; readonly text: string; readonly attribute: Attribute };

export const inputsOfCall = ({ attrs }: Pick<Node, 'attrs'>): readonly CallInput[] =>
  [...attrs.values()].flatMap((attribute) => {
    const prefix = inputPrefixes.find((one) => attribute.key.startsWith(one));
    return prefix === undefined
      ? []
      : [{ name: attribute.key.slice(prefix.length), text: attribute.value.text, attribute }];
  });

type Expanded = (text: string, mode: ReferenceMode) => ReturnType<typeof expand>;

/** The inputs of a call in the words of its caller, or why they have no value. */
export function inputsGiven(
  call: Node,
  expanded: Expanded,
): { readonly values: Readonly<Record<string, string>> } | { readonly problem: string } {
  const values: Record<string, string> = {};
  for (const { name, text } of inputsOfCall(call)) {
    const read = expanded(text, 'prompt');
    if ('unknown' in read)
      return { problem: `the input "${name}" names ${read.unknown}, which has no value` };
    put(values, name, read.text);
  }
  return { values };
}

/** The variables of a called pipeline: what the call hands to it, else their defaults. */
function variablesOfCall(
  child: Graph,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const values = variablesOf(child).map(({ name, value }) => [name, own(given, name) ?? value] as const);
  return Object.fromEntries(values.filter((one): one is [string, string] => one[1] !== undefined));
}

/** The pipeline that a node of the graph calls. */
export function pipelineOfCall({ children }: Graph, call: string): Graph {
  const child = children?.get(call);
  if (child === undefined) throw new Error(`Internal: the call ${call} has no pipeline`);
  return child;
}

/** What a call begins: one branch, whose context has the variables of the called pipeline. */
export function openedCall(caller: Graph, call: Node, expanded: Expanded): OpenedFork {
  const child = pipelineOfCall(caller, call.id);
  const given = inputsGiven(call, expanded);
  const variables = Object.entries(variablesOfCall(child, 'values' in given ? given.values : {}));
  const exit = [...child.nodes.values()].find(({ type }) => type === 'exit');
  if (exit === undefined) throw new Error('Internal: no exit in a linted graph');
  const set = Object.fromEntries(variables.map(([name, value]) => [inputKey(name), value]));
  return { join: exit.id, call: true, branches: [{ id: startOf(child).id, set, fresh: true }] };
}

/** The same in a pipeline that runs: nothing but the call has set them. */
export const variablesGiven = ({
  context,
  given = [],
}: Pick<Cursor, 'context' | 'given'>): Readonly<Record<string, string>> =>
  Object.fromEntries(given.map((key) => [key.slice(inputKey('').length), asText(own(context, key))]));

/** Settings of a graph that count only for a whole run: a called pipeline has those of the run's own pipeline. */
export const settingsOfRun: readonly string[] = [
  ...['workdir', 'holdout', 'holdout_beside', 'holdout_from', 'isolation', 'floor', 'audit'],
  ...['strength', 'min_strength', 'strength_build', 'strength_budget'],
  ...['agent_script', 'sandbox', 'sandbox_bind', 'prices', 'verify_reserve'],
  ...Object.keys(graphLimits),
];

/** The attributes of a called graph as a run has them. */
export function attributesInRun(child: Attributes, run: Attributes): Attributes {
  const own = [...child].filter(([key]) => !settingsOfRun.includes(key));
  const inherited = [...run].filter(([key]) => settingsOfRun.includes(key));
  return new Map([...own, ...inherited]);
}

/** A pipeline that a call runs, and those that its own calls run. */
export type CalledPipeline = {
  /** With the ids that its author wrote. */
  readonly graph: Graph;
  /** The place of its file, relative to the folder of the run's own pipeline. */
  readonly place: string;
  readonly calls: Calls;
};

/** By the id of the call, as its author wrote it. */
export type Calls = ReadonlyMap<string, CalledPipeline>;

/** The graph with the pipelines that it calls in their places. */
export function withCalls(graph: Graph, calls: Calls): Graph {
  if (calls.size === 0) return graph;
  const whole = nested(graph, calls);
  const named = [...new Set([...graphsIn(whole)].flatMap(({ settings }) => settings.secrets ?? []))];
  return named.length === 0 ? whole : everywhere(whole, named);
}

function nested(graph: Graph, calls: Calls): Graph {
  const children = [...calls].flatMap(([id, { graph: child, place, calls: inner }]) => {
    const call = graph.nodes.get(idInRun(graph, id));
    return call === undefined ? [] : [[call.id, nested(calledBy(child, call, place), inner)] as const];
  });
  return children.length === 0 ? graph : { ...graph, children: new Map(children) };
}

/** What one of the pipelines names as a secret is one for all. */
function everywhere(graph: Graph, secrets: readonly string[]): Graph {
  const all = withGraphSettings(graph, { secrets });
  if (all.children === undefined) return all;
  return {
    ...all,
    children: new Map([...all.children].map(([id, child]) => [id, everywhere(child, secrets)])),
  };
}

/** The pipeline as the call runs it: with the ids that its nodes have in the run. */
function calledBy(child: Graph, call: Node, place: string): Graph {
  const by = { call: { node: call, place } };
  const inRun = (id: string): string => idInRun(by, id);
  const target = (id: string | undefined) => (id !== undefined && child.nodes.has(id) ? inRun(id) : id);
  const placed = (text: string | undefined) =>
    text?.startsWith('@') === true ? `@${placeOfFile(place, text.slice(1).trim())}` : text;
  const node = (one: Node): Node => {
    const { retry_target, fallback_retry_target, required_tool_node, prompt, response_schema } = one.settings;
    const changed = {
      ...{ retry_target: target(retry_target), fallback_retry_target: target(fallback_retry_target) },
      ...{ required_tool_node: target(required_tool_node) },
      ...{ prompt: placed(prompt), response_schema: placed(response_schema) },
    };
    return withNodeSettings({ ...one, id: inRun(one.id) }, changed);
  };
  const edge = (one: Edge): Edge => ({ ...one, from: inRun(one.from), to: inRun(one.to) });
  const { retry_target, fallback_retry_target } = child.settings;
  const targets = {
    retry_target: target(retry_target),
    fallback_retry_target: target(fallback_retry_target),
  };
  return {
    ...withGraphSettings(child, targets),
    nodes: new Map([...child.nodes.values()].map((one) => [inRun(one.id), node(one)])),
    edges: child.edges.map(edge),
    ...by,
  };
}
