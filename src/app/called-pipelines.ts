/** The pipelines that the nodes of a pipeline call, and those that these call: from their files, or from the manifest of a run. */
import { basename, dirname, join, relative, resolve } from 'node:path';
import {
  attributesInRun,
  type CalledPipeline,
  type Calls,
  callsIn,
  deepestCall,
  fileOfCall,
} from '../core/calls.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import type { Diagnostic } from '../core/diagnostic.ts';
import { type Graph, graphsIn, type ParsedGraph } from '../core/graph.ts';
import { own } from '../core/json.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { Typed } from '../core/settings/typing.ts';
import { sha256 } from '../core/sha256.ts';
import { readGraph } from '../dot/read.ts';
import type { CallRead } from '../lint/rule.ts';

type Text = { readonly text: string } | { readonly problem: Diagnostic };

/** The run's own pipeline, and how the texts of others are read. */
export type CallRoot = {
  readonly graph: Graph;
  /** Absolute: the folder of its file. */
  readonly folder: string;
  /** Reads the settings of a graph, with the node types of its project. */
  typed(graph: ParsedGraph): Typed<NodeKind>;
};

/** A pipeline file that is called, as its author wrote it. */
export type CalledFile = {
  /** As shown to people. */
  readonly file: string;
  readonly text: string;
  readonly whole: Typed<NodeKind> | undefined;
  readonly diagnostics: readonly Diagnostic[];
  /** What its own calls call, by their ids. */
  readonly reads: Map<string, CallRead>;
};

export type CalledTree = {
  readonly calls: Calls;
  /** What the calls of the run's own pipeline call, by their ids. */
  readonly reads: ReadonlyMap<string, CallRead>;
  /** Each called file once, by its place: its path relative to the folder of the run's own pipeline. */
  readonly files: ReadonlyMap<string, CalledFile>;
};

const placeOf = ({ folder }: CallRoot, caller: string, written: string): string =>
  relative(folder, resolve(folder, dirname(caller), written));

/** As the user would type it, who has typed the path of the run's own pipeline. */
const shownFile = ({ graph }: CallRoot, place: string): string => join(dirname(graph.file), place);

/** The texts of all files that are called, by their places. */
export async function readCalledTexts(
  root: CallRoot,
  read: (path: string, shown: string) => Promise<Text>,
): Promise<ReadonlyMap<string, Text>> {
  const texts = new Map<string, Text>();
  const placesIn = (graph: Graph, caller: string): string[] =>
    callsIn(graph).map((node) => placeOf(root, caller, fileOfCall(graph, node) ?? caller));
  const pending = placesIn(root.graph, basename(root.graph.file));
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    if (texts.has(place)) continue;
    const text = await read(resolve(root.folder, place), shownFile(root, place));
    texts.set(place, text);
    const graph = 'text' in text ? readGraph(place, text.text).graph : undefined;
    if (graph !== undefined) pending.push(...placesIn(root.typed(graph).graph, place));
  }
  return texts;
}

/** Parses the called files, and follows their calls. */
export function calledTree(root: CallRoot, textAt: (place: string) => Text | undefined): CalledTree {
  const files = new Map<string, CalledFile>();
  const walked = new Map<string, Calls>();
  const fileAt = (place: string, text: string): CalledFile => {
    const known = files.get(place) ?? parsed(root, place, text);
    files.set(place, known);
    return known;
  };
  const walk = (caller: Graph, reads: Map<string, CallRead>, chain: readonly string[]): Calls => {
    const calls = new Map<string, CalledPipeline>();
    for (const node of callsIn(caller)) {
      const written = fileOfCall(caller, node);
      if (written === undefined) continue;
      const place = placeOf(root, chain.at(-1) ?? '', written);
      const text = textAt(place);
      const problem = chainProblem(root, chain, place) ?? problemOfText(text);
      if (problem !== undefined) reads.set(node.id, problem);
      if (problem !== undefined || text === undefined || !('text' in text)) continue;
      const { whole, reads: inner } = fileAt(place, text.text);
      if (whole === undefined) continue;
      if (!reads.has(node.id)) reads.set(node.id, { graph: whole.graph });
      const key = `${chain.length} ${place}`;
      const behind = walked.get(key) ?? walk(whole.graph, inner, [...chain, place]);
      walked.set(key, behind);
      calls.set(node.id, { graph: inRun(root, whole), place, calls: behind });
    }
    return calls;
  };
  const reads = new Map<string, CallRead>();
  return { calls: walk(root.graph, reads, [basename(root.graph.file)]), reads, files };
}

function parsed(root: CallRoot, place: string, text: string): CalledFile {
  const file = shownFile(root, place);
  const { graph, diagnostics } = readGraph(file, text);
  const whole = graph === undefined ? undefined : root.typed(graph);
  return { file, text, whole, diagnostics, reads: new Map() };
}

/** The called graph with the settings that only the run's own pipeline decides. */
function inRun({ graph, typed }: CallRoot, { graph: child }: Typed): Graph {
  return typed({ ...child, attrs: attributesInRun(child.attrs, graph.attrs) }).graph;
}

function chainProblem(root: CallRoot, chain: readonly string[], place: string): CallRead | undefined {
  const files = [...chain, place].map((one) => shownFile(root, one));
  if (chain.includes(place))
    return {
      code: 'call-nesting',
      message: `the pipelines call each other in a circle: ${files.slice(chain.indexOf(place)).join(' -> ')}`,
      fix: 'remove one of the calls; a loop of edges repeats a call',
    };
  if (chain.length <= deepestCall) return undefined;
  return {
    code: 'call-nesting',
    message: `calls are nested at most ${deepestCall} deep, and this one is in ${chain.length - 1} others: ${files.join(' -> ')}`,
    fix: 'call the pipeline from one that is called less deeply',
  };
}

function problemOfText(text: Text | undefined): CallRead | undefined {
  if (text === undefined) return { code: 'call-file', message: 'the called pipeline was not read', fix: '' };
  if ('text' in text) return undefined;
  const { message } = text.problem;
  return { code: 'call-file', message, fix: 'the path is relative to this file; name a .dot file' };
}

/** The called pipelines of a graph for the manifest; those that have not changed stay as the run has them. */
export function calledInManifest(
  graph: Graph,
  cwd: string,
  before: Manifest['pipelines'] = {},
): Pick<Manifest, 'pipelines'> {
  const found = [...graphsIn(graph)].flatMap(({ call, file, text }) => {
    if (call === undefined) return [];
    const now = { path: resolve(cwd, file), text, sha256: sha256(text) };
    const was = own(before, call.place);
    return [[call.place, was?.sha256 === now.sha256 ? was : now] as const];
  });
  return found.length === 0 ? {} : { pipelines: Object.fromEntries(found) };
}

/** The called pipelines of a run, from its manifest. */
export const callsInManifest = (root: CallRoot, { pipelines = {} }: Pick<Manifest, 'pipelines'>): Calls =>
  calledTree(root, (place) => own(pipelines, place)).calls;
