/** A pipeline: nodes, edges and their settings, each with its place in the author's text. */
import type { EdgeCondition } from './conditions.ts';
import type { Span } from './diagnostic.ts';
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
};

/** The node type that waits for a time. */
export const waitType = 'wait';

/** Whether nodes of this type ask an agent or a model. */
export const isAgentType = (type: string): boolean => type === 'codergen' || type === 'prompt';

/** Whether nodes of this type run a command and no agent. */
export const isCommandType = (type: string): boolean => type === 'tool' || type === 'verification';

/** Whether nodes of this type work on the workspace: what a kind declares as `executable`, for readers of records. */
export const isExecutableType = (type: string): boolean => isAgentType(type) || isCommandType(type);
