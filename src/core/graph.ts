/** A pipeline: nodes, edges and their settings, each with its place in the author's text. */
import type { EdgeCondition } from './conditions.ts';
import type { NodeKind } from './contracts/node-kind.ts';
import type { Span } from './diagnostic.ts';
import type { Json } from './json.ts';
import type { GraphSettings } from './settings/graph.ts';
import type { NodeSettings } from './settings/node.ts';
import type { Attribute, Attributes } from './settings/types.ts';

/** A node as its author wrote it. */
export type ParsedNode = {
  readonly id: string;
  readonly attrs: Attributes;
  /** Classes given by enclosing subgraphs' labels, outermost first. */
  readonly classes: readonly string[];
  /** The id where the node is first declared, or first mentioned when it is not. */
  readonly span: Span;
  /** False for a node that only an edge mentions. */
  readonly declared: boolean;
};

export type Node = ParsedNode & {
  /** Its node type, given by `type`, shape or id; empty where there is no such type, which lint refuses. */
  readonly type: string;
  readonly settings: NodeSettings;
};

export type Edge = {
  readonly from: string;
  readonly to: string;
  readonly attrs: Attributes;
  readonly label: string;
  readonly weight: number;
  /** `loop_restart`: a run that takes the edge begins a new round. */
  readonly restarts?: true;
  /** Absent on an unconditional edge. */
  readonly condition?: EdgeCondition;
  /** The condition as written, empty when unconditional. */
  readonly conditionText: string;
  /** From the source id to the target id of this hop. */
  readonly span: Span;
};

/** A graph as its author wrote it. */
export type ParsedGraph = {
  /** The path of the pipeline file as the user typed it, for messages. */
  readonly file: string;
  /** The author's text, byte order mark included. */
  readonly text: string;
  readonly name: string;
  readonly attrs: Attributes;
  /** In order of first appearance. */
  readonly nodes: ReadonlyMap<string, ParsedNode>;
  readonly edges: readonly Edge[];
  /** Attributes that subgraphs set in addition to their label: nothing reads them. */
  readonly ofSubgraphs: readonly Attribute[];
  /** Declarations of a node with attributes after its first one, in the order of the text. */
  readonly declaredTwice: readonly { readonly id: string; readonly span: Span }[];
  /** Syntax that is accepted here but not by Graphviz, in the order of the text. */
  readonly notGraphviz: readonly Span[];
  /** The graph's id or its `digraph` keyword: the place of findings about the whole graph. */
  readonly span: Span;
};

export type Graph = Omit<ParsedGraph, 'nodes'> & {
  readonly nodes: ReadonlyMap<string, Node>;
  readonly settings: GraphSettings;
  /** Of a pipeline that a node calls: that node, with whose id and a dot the ids of all nodes here begin, and the place of the file,
   *  relative to the folder of the run's own pipeline. */
  readonly call?: { readonly node: Node; readonly place: string };
  /** The pipelines that nodes of this one call, by the ids of those nodes. */
  readonly children?: ReadonlyMap<string, Graph>;
  /** The own node types of the project that its nodes have. */
  readonly own?: readonly NodeKind[];
  /** Of a branch of `for_each`, which has its own instance of each node. */
  readonly instance?: GraphInstance;
};

export type GraphInstance = {
  readonly item: Json;
  /** 1 for the first. */
  readonly index: number;
  /** The context key under which the branch finds its item. */
  readonly key: string | undefined;
  /** The ids of the instances, by those in the graph without any, and the other way round. */
  readonly ids: ReadonlyMap<string, string>;
  readonly origins: ReadonlyMap<string, string>;
};

type Naming = Pick<Graph, 'call' | 'instance'>;

/** The id of a node as its author wrote it: conditions, prompts and answers of a called pipeline or of a branch of `for_each` name its
 *  nodes by it. */
export function writtenId({ call, instance }: Naming, id: string): string {
  const called = instance?.origins.get(id) ?? id;
  return call !== undefined && called.startsWith(`${call.node.id}.`)
    ? called.slice(call.node.id.length + 1)
    : called;
}

/** The id in a run of the node that an author calls `id`. */
export function idInRun({ call, instance }: Naming, id: string): string {
  const called = call === undefined ? id : `${call.node.id}.${id}`;
  return instance?.ids.get(called) ?? called;
}

/** The graph and the pipelines that its nodes call, those that call others before these. */
export function* graphsIn(graph: Graph): Generator<Graph> {
  yield graph;
  for (const child of graph.children?.values() ?? []) yield* graphsIn(child);
}

const whole = new WeakMap<Graph, ReadonlyMap<string, Node>>();

/** Every node that a run of the graph may execute, those of called pipelines too. */
export function allNodes(graph: Graph): ReadonlyMap<string, Node> {
  if (graph.children === undefined) return graph.nodes;
  const known = whole.get(graph) ?? new Map([...graphsIn(graph)].flatMap(({ nodes }) => [...nodes]));
  whole.set(graph, known);
  return known;
}

/** Of the graph and the pipelines that it calls the one with this node. */
export const graphWith = (graph: Graph, id: string): Graph =>
  [...graphsIn(graph)].find(({ nodes }) => nodes.has(id)) ?? graph;

/** The own node types of the graph and of the pipelines that it calls. */
export const ownKindsIn = (graph: Pick<Graph, 'own' | 'children'>): readonly NodeKind[] => {
  const ofChildren = [...(graph.children?.values() ?? [])].flatMap(ownKindsIn);
  const all = [...(graph.own ?? []), ...ofChildren];
  return all.filter(({ type }, at) => all.findIndex((one) => one.type === type) === at);
};

/** A node by its id in records; of an instance of a `for_each` (`NODE.3`) the node itself. */
export const nodeOf = (graph: Graph | undefined, id: string): Node | undefined =>
  graph === undefined ? undefined : nodeIn(allNodes(graph), id);

/** The same of these nodes alone. */
export const nodeIn = (nodes: ReadonlyMap<string, Node>, id: string): Node | undefined =>
  nodes.get(id) ?? nodes.get(withoutItems(id));

/** The id without the numbers of items: `call.fix` for `call.2.fix.3`. */
export const withoutItems = (id: string): string => id.replace(/\.\d+(?=\.|$)/g, '');

/** The node type that waits for a time. */
export const waitType = 'wait';
/** The type of nodes whose edges are branches that run side by side. */
export const fanOutType = 'parallel';
/** The type of nodes that only join branches; a node of any other type may join some as well. */
export const fanInType = 'parallel.fan_in';
/** The node types of calls. */
export const subgraphType = 'subgraph';
export const managerType = 'stack.manager_loop';

/** Whether nodes of this type ask an agent or a model. */
export const isAgentType = (type: string): boolean => type === 'codergen' || type === 'prompt';

/** Whether nodes of this type run a command and no agent. */
const isCommandType = (type: string): boolean => type === 'tool' || type === 'verification';

/** Types of factory that neither run a program nor ask an agent. */
const passiveTypes: readonly string[] = [
  ...['start', 'exit', 'conditional', 'wait.human', waitType],
  // They open forks or close them.
  ...[fanOutType, fanInType, subgraphType, managerType],
];

/** Whether nodes of this type work on the workspace: what a kind declares as `executable`, for readers of records. Own node types
 *  always do. */
export const isExecutableType = (type: string): boolean => type !== '' && !passiveTypes.includes(type);

/** Whether a replay takes executions of this type from the record as they are. */
export const isReplayedType = (type: string): boolean => isExecutableType(type) && !isAgentType(type);

/** Whether it is an own node type of a project. */
export const isOwnType = (type: string): boolean => isReplayedType(type) && !isCommandType(type);
