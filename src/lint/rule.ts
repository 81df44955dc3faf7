/** The type of lint rules, their input and their findings. */
import type { AttributeTable, AttributeValues } from '../model/attribute.ts';
import type { Diagnostic, Span } from '../model/diagnostic.ts';
import type { Edge, Graph, Node } from '../model/graph.ts';
import { kindOf } from '../model/resolve.ts';

/** The properties of a node kind that lint uses. */
export type LintKind = {
  readonly type: string;
  readonly shapes: readonly string[];
  readonly ids: readonly string[];
  readonly executable: boolean;
  readonly attributes: AttributeTable;
  check?(node: Node, attributes: AttributeValues<AttributeTable>, graph: Graph): readonly Diagnostic[];
};

export type LintOptions = {
  /** Texts of `@file` prompts, by the attribute's value, `@` included. */
  readonly prompts?: ReadonlyMap<string, string>;
  /** A part of the text could not be parsed: rules about the whole graph are skipped. */
  readonly partial?: boolean;
  /** The pipeline is about to run: a refused command is only a warning. */
  readonly toRun?: boolean;
  /** Attributes that nothing reads are errors. */
  readonly strict?: boolean;
};

export type Subject = {
  readonly graph: Graph;
  readonly kinds: readonly LintKind[];
  /** The kind of each node; undefined if no kind has its type or shape. */
  readonly kindOf: ReadonlyMap<string, LintKind | undefined>;
  readonly incoming: ReadonlyMap<string, readonly Edge[]>;
  readonly outgoing: ReadonlyMap<string, readonly Edge[]>;
  readonly options: LintOptions;
};

export type Rule = (subject: Subject) => Iterable<Diagnostic>;

function by(edges: readonly Edge[], end: 'from' | 'to'): ReadonlyMap<string, readonly Edge[]> {
  const found = new Map<string, Edge[]>();
  for (const edge of edges) {
    const list = found.get(edge[end]);
    if (list === undefined) found.set(edge[end], [edge]);
    else list.push(edge);
  }
  return found;
}

export function subjectOf(graph: Graph, kinds: readonly LintKind[], options: LintOptions): Subject {
  const ofNodes = new Map<string, LintKind | undefined>();
  for (const node of graph.nodes.values()) ofNodes.set(node.id, kindOf(node, kinds));
  return {
    graph,
    kinds,
    kindOf: ofNodes,
    incoming: by(graph.edges, 'to'),
    outgoing: by(graph.edges, 'from'),
    options,
  };
}

/** The nodes of one kind, in the graph's order. */
export const nodesOf = (subject: Subject, type: string): readonly Node[] =>
  [...subject.graph.nodes.values()].filter((node) => subject.kindOf.get(node.id)?.type === type);

type Said = { readonly message: string; readonly span: Span; readonly fix: string };

/** A finding of the rule `code` in the graph's file. */
export const finding = (
  graph: Graph,
  code: string,
  severity: Diagnostic['severity'],
  { message, span, fix }: Said,
): Diagnostic => ({ code, severity, message, place: { file: graph.file, span }, fix });
