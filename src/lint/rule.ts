/** The type of lint rules, their input and their findings. */
import { callsIn, fileAttributes } from '../core/calls.ts';
import type { CodeDescription, Diagnostic, Span } from '../core/diagnostic.ts';
import type { Edge, Graph, Node } from '../core/graph.ts';
import type { PossibleOutcome } from '../core/possible-outcomes.ts';
import type { Finding, Repair } from '../core/settings/repair.ts';
import type { Attribute } from '../core/settings/types.ts';
import type { NodeType, Typed } from '../core/settings/typing.ts';

/** The properties of a node kind that lint uses. */
export type LintKind = NodeType & {
  readonly executable: boolean;
  outcomes?(node: Node, graph: Graph): readonly PossibleOutcome[];
  /** The codes of `check`. */
  readonly codes?: readonly CodeDescription[];
  check?(node: Node, graph: Graph): readonly Diagnostic[];
};

export type LintOptions = {
  /** Texts of `@file` prompts, by the attribute's value, `@` included. */
  readonly prompts?: ReadonlyMap<string, string> | undefined;
  /** Texts of the scripts that a `tool_command` names, by the command. */
  readonly scripts?: ReadonlyMap<string, readonly string[]> | undefined;
  /** A part of the text could not be parsed: rules about the whole graph are skipped. */
  readonly partial?: boolean;
  /** The pipeline is about to run: a refused command is only a warning. */
  readonly toRun?: boolean;
  /** Attributes that nothing reads are errors. */
  readonly strict?: boolean;
  /** What the calls of the graph call, by their ids; without it, the files that they name are not looked at. */
  readonly calls?: ReadonlyMap<string, CallRead> | undefined;
  /** The texts that a called graph names. */
  readonly textsOf?: (graph: Graph) => Pick<LintOptions, 'prompts' | 'scripts'> | undefined;
  /** The graph with the pipelines that it calls, as it would run. */
  readonly run?: Graph;
  /** The graph is one that another pipeline calls. */
  readonly isCalled?: boolean;
  /** What the pipeline's workdir holds; without it, files that the pipeline names are not looked for. */
  readonly files?: WorkdirFiles | undefined;
  /** The providers that the user's file adds to those that are built in. */
  readonly providers?: (() => readonly string[]) | undefined;
};

/** What a call calls: the pipeline as its author wrote it, or why there is none, under the code of the rule that reports it. */
export type CallRead =
  | { readonly graph: Graph }
  | { readonly code: 'call-file' | 'call-nesting'; readonly message: string; readonly fix: string };

export type WorkdirFiles = {
  readonly workdir: 'missing' | 'there';
  /** A folder whose name is near that of a missing workdir. */
  readonly near?: string | undefined;
  /** Whether the workdir has the path, which is relative to it. */
  has(path: string): boolean;
};

export type Subject = {
  readonly graph: Graph;
  readonly kinds: readonly LintKind[];
  /** Attributes with an invalid value, which is reported already. */
  readonly invalid: ReadonlySet<Attribute>;
  /** The kind of each node; undefined if no kind has its type or shape. */
  readonly kindOf: ReadonlyMap<string, LintKind | undefined>;
  readonly incoming: ReadonlyMap<string, readonly Edge[]>;
  readonly outgoing: ReadonlyMap<string, readonly Edge[]>;
  /** Ids of the nodes that name each id as a retry target. */
  readonly jumps: ReadonlyMap<string, readonly string[]>;
  readonly options: LintOptions;
};

/** A rule, with what `factory explain` and docs/lint.md say about it. */
export type Rule = CodeDescription & {
  /** Its findings make sense only for a whole graph, or only where the possible paths of runs are defined. */
  readonly needs?: 'whole graph' | 'paths';
  check(subject: Subject): Iterable<Finding>;
};

function by(edges: readonly Edge[], end: 'from' | 'to'): ReadonlyMap<string, readonly Edge[]> {
  const found = new Map<string, Edge[]>();
  for (const edge of edges) {
    const list = found.get(edge[end]);
    if (list === undefined) found.set(edge[end], [edge]);
    else list.push(edge);
  }
  return found;
}

export function lintSubject({ graph, kinds, invalid }: Typed<LintKind>, options: LintOptions): Subject {
  const byType = new Map(kinds.map((kind) => [kind.type, kind]));
  return {
    graph,
    kinds,
    invalid,
    kindOf: new Map([...graph.nodes.values()].map(({ id, type }) => [id, byType.get(type)])),
    incoming: by(graph.edges, 'to'),
    outgoing: by(graph.edges, 'from'),
    jumps: jumpsIn(graph),
    options,
  };
}

/** The nodes of one kind, in the graph's order. */
export const nodesOf = ({ graph }: Pick<Subject, 'graph'>, type: string): readonly Node[] =>
  [...graph.nodes.values()].filter((node) => node.type === type);

/** The nodes from which a path leads to this one, by edges and by retry targets, the nearest first. */
export function* nodesBefore({ id }: Node, { graph, incoming, jumps }: Subject): Generator<Node> {
  const seen = new Set([id]);
  const given = new Set<string>();
  for (const at of seen)
    for (const from of [...(incoming.get(at) ?? []).map((edge) => edge.from), ...(jumps.get(at) ?? [])]) {
      seen.add(from);
      const node = graph.nodes.get(from);
      if (node === undefined || given.has(from)) continue;
      given.add(from);
      yield node;
    }
}

/** The nodes that name each id as a retry target. */
function jumpsIn(graph: Graph): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { id, settings } of graph.nodes.values())
    for (const target of [settings.retry_target, settings.fallback_retry_target])
      if (target !== undefined) found.set(target, [...(found.get(target) ?? []), id]);
  return found;
}

type FindingTexts = {
  readonly message: string;
  readonly span: Span;
  readonly fix: string;
  /** What the author probably meant; empty where that is unknown. */
  readonly repairs?: readonly Repair[] | undefined;
  /** The text in place of `span` that the author must have meant, where no repair says it. */
  readonly instead?: string | undefined;
};

/** A finding of a rule in the graph's file. */
export const finding = (
  graph: Graph,
  { code, severity }: Pick<Rule, 'code' | 'severity'>,
  { message, span, fix, repairs = [], instead }: FindingTexts,
): Finding => ({
  ...{ code, severity, message, place: { file: graph.file, span }, fix, repairs },
  ...(instead === undefined ? {} : { edits: [{ span, text: instead }], sure: true as const }),
});

/** Why calls of the graph have no pipeline, for the rule with that code. */
export function* callFindings(rule: Rule, { graph, options }: Subject): Generator<Finding> {
  for (const call of callsIn(graph)) {
    const read = options.calls?.get(call.id);
    if (read === undefined || 'graph' in read || read.code !== rule.code) continue;
    const { message, fix } = read;
    yield finding(graph, rule, {
      message,
      fix,
      span: fileAttributes(graph, call)[0]?.valueSpan ?? call.span,
    });
  }
}
