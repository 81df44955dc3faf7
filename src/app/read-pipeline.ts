/** Reads and lints a pipeline file, and reads its run-wide attributes. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { withCalls } from '../core/calls.ts';
import type { NodeKind } from '../core/contracts/node-kind.ts';
import type { NodeModule } from '../core/contracts/own-kind.ts';
import type { Environment } from '../core/contracts/process.ts';
import { type Diagnostic, hasErrors } from '../core/diagnostic.ts';
import { type Graph, ownKindsIn, type ParsedGraph } from '../core/graph.ts';
import { own as ownValue } from '../core/json.ts';
import { nearest } from '../core/nearest.ts';
import { workdirOf } from '../core/pipeline.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { type Typed, typed } from '../core/settings/typing.ts';
import { readGraph } from '../dot/read.ts';
import { lint } from '../lint/index.ts';
import type { LintOptions, WorkdirFiles } from '../lint/rule.ts';
import {
  type CalledTree,
  calledInManifest,
  calledTree,
  callsInManifest,
  readCalledTexts,
} from './called-pipelines.ts';
import { kindsOf } from './kinds.ts';
import { userProviders } from './model-servers.ts';
import { ownKindsFor, recordedTypes } from './own-kinds.ts';
import { type OpenTexts, pipelineText } from './pipeline-text.ts';
import { projectFileOf } from './project-file.ts';
import { type TextsNamed, textsNamed } from './texts-named.ts';

export type ReadPipeline = {
  /** Undefined when the pipeline cannot be run. */
  readonly graph: Graph | undefined;
  /** Also a graph with errors, to look at; undefined if the text or its syntax cannot be read. */
  readonly anyGraph: Graph | undefined;
  /** Undefined when the file cannot be read. */
  readonly text: string | undefined;
  /** The text of a file in which something was found: of the pipeline, or of one that it calls. */
  textOf(file: string): string | undefined;
  readonly found: readonly Diagnostic[];
  /** What the file declares, as far as it could be read. */
  readonly counts:
    | { readonly nodes: number; readonly undeclared: number; readonly edges: number }
    | undefined;
};

export type ReadOptions = {
  /** The pipeline is about to run: a command that a guardrail would refuse is only a warning. Default. */
  readonly toRun?: boolean;
  /** Attributes that nothing reads are errors. */
  readonly strict?: boolean;
  /** Own node types of the caller, besides those of the project. */
  readonly kinds?: readonly NodeModule[];
  /** Texts that count in place of those of files, by absolute path: what an editor has not saved. */
  readonly texts?: OpenTexts | undefined;
  /** Nothing of the project is executed: its own node types are not loaded, and nothing is said about them. */
  readonly inert?: boolean;
  /** Variables that name the user's file, with providers of the user's own; without them only built-in ones are known. */
  readonly env?: Environment;
  /** Called between reading and checking: the parser has left much garbage. */
  readonly release?: () => void;
};

/** Reads and lints a pipeline file; `graph` is undefined when there are errors. */
export async function readPipeline(
  path: string,
  cwd: string,
  options: ReadOptions = {},
): Promise<ReadPipeline> {
  const read = await pipelineText(path, cwd, path, options.texts);
  if ('problem' in read)
    return {
      ...{ graph: undefined, anyGraph: undefined, text: undefined, counts: undefined },
      ...{ found: [read.problem], textOf: () => undefined },
    };
  const { text } = read;
  const home = dirname(resolve(cwd, path));
  const { own, found: before } =
    options.inert === true ? { own: [], found: [] } : await ownKindsFor(home, options.kinds);
  const { whole, diagnostics } = typedText(path, text, own);
  options.release?.();
  if (whole === undefined)
    return {
      ...checked(whole, diagnostics, { ...options, before }),
      text,
      textOf: (file) => (file === path ? text : undefined),
    };
  const texts = await textsNamed(whole.graph, cwd, options.texts);
  // A run may name another workdir.
  const files = options.toRun === false ? workdirFiles(whole.graph, cwd) : undefined;
  const root = { graph: whole.graph, folder: resolve(cwd, path, '..'), typed: typedWith(own) };
  const called = await readCalledTexts(root, (file, shown) => pipelineText(file, cwd, shown, options.texts));
  const tree = calledTree(root, (place) => called.get(place));
  const named = new Map<Graph, TextsNamed>();
  for (const { whole: one } of tree.files.values())
    if (one !== undefined) named.set(one.graph, await textsNamed(one.graph, cwd, options.texts));
  const textsOf: LintOptions['textsOf'] = (graph) => named.get(graph);
  const run = withCalls(whole.graph, tree.calls);
  const hasOwn = options.inert === true && projectFileOf(home) !== undefined;
  const { env } = options;
  const providers = env === undefined ? undefined : () => userProviders(env);
  const more = { ...options, ...texts, providers, before, files, hasOwn, calls: tree.reads, textsOf, run };
  return withCalled({ ...checked(whole, diagnostics, more), text }, run, tree, {
    ...options,
    ...{ textsOf, hasOwn, providers },
  });
}

/** What is found about the pipelines that it calls follows its own findings. */
function withCalled(
  own: Omit<ReadPipeline, 'textOf'>,
  run: Graph,
  { files }: CalledTree,
  options: CheckOptions,
): ReadPipeline {
  const found = [...own.found];
  const texts = new Map([[run.file, own.text]]);
  for (const { file, text, whole, diagnostics, reads } of files.values()) {
    texts.set(file, text);
    const named = whole === undefined ? {} : options.textsOf?.(whole.graph);
    found.push(...checked(whole, diagnostics, { ...options, ...named, calls: reads, isCalled: true }).found);
  }
  const graph = hasErrors(found) ? undefined : run;
  return { ...own, graph, anyGraph: run, found, textOf: (file) => texts.get(file) };
}

/** Reads and lints the text of a pipeline; files that it names are not looked at. */
export function checkPipeline(
  file: string,
  text: string,
  { own = [], ...options }: Omit<ReadOptions, 'kinds'> & Pick<Graph, 'own'> = {},
): ReadPipeline {
  const { whole, diagnostics } = typedText(file, text, own);
  return {
    ...checked(whole, diagnostics, options),
    text,
    textOf: (one) => (one === file ? text : undefined),
  };
}

/** Lints another text of a pipeline, with the pipelines that it calls as they are in `graph`; `prompts` has the texts of
 *  prompt files by reference. */
export function checkChangedText(
  graph: Graph,
  text: string,
  cwd: string,
  prompts: ReadonlyMap<string, string>,
): ReadPipeline {
  const { file } = graph;
  const own = ownKindsIn(graph);
  const { whole, diagnostics } = typedText(file, text, own);
  if (whole === undefined) return checkPipeline(file, text, { own });
  const { pipelines = {} } = calledInManifest(graph, cwd);
  const root = { graph: whole.graph, folder: resolve(cwd, file, '..'), typed: typedWith(own) };
  const tree = calledTree(root, (place) => ownValue(pipelines, place));
  const run = withCalls(whole.graph, tree.calls);
  const options = { prompts, calls: tree.reads, textsOf: () => ({ prompts }), run };
  return withCalled({ ...checked(whole, diagnostics, options), text }, run, tree, options);
}

/** The graph of a run, which was linted when the run began; undefined if it cannot be read. */
function graphOfRun(file: string, manifest: RecordedPipeline, own: readonly NodeKind[]): Graph | undefined {
  const graph = typedText(file, manifest.pipeline.text, own).whole?.graph;
  return graph && withStoredCalls(graph, manifest, own);
}

/** The graph with the pipelines that it calls as the run keeps them. */
export function withStoredCalls(
  graph: Graph,
  manifest: Pick<Manifest, 'pipeline_file' | 'pipeline_path' | 'pipelines'>,
  own: readonly NodeKind[],
): Graph {
  if (manifest.pipelines === undefined) return graph;
  const folder = dirname(manifest.pipeline_file ?? manifest.pipeline_path);
  return withCalls(graph, callsInManifest({ graph, folder, typed: typedWith(own) }, manifest));
}

type TypedText = {
  readonly whole: Typed<NodeKind> | undefined;
  readonly diagnostics: readonly Diagnostic[];
};

/** A resume reads the pipeline file and the text that the run keeps: they are the same. */
let latest: { readonly of: readonly unknown[]; readonly read: TypedText } | undefined;

/** With the node types of factory and own ones. */
function typedText(file: string, text: string, own: readonly NodeKind[]): TypedText {
  const of = [file, text, ...own];
  if (latest?.of.length === of.length && latest.of.every((one, at) => one === of[at])) return latest.read;
  const { graph, diagnostics } = readGraph(file, text);
  const read = {
    whole: graph === undefined ? undefined : typedWith(own)(graph),
    diagnostics,
  };
  latest = { of, read };
  return read;
}

const typedWith =
  (own: readonly NodeKind[]) =>
  (graph: ParsedGraph): Typed<NodeKind> =>
    withOwnTypes(typed(graph, kindsOf({ own })), own);

/** The graph with the own types that its nodes have: its execution needs no others. */
function withOwnTypes(whole: Typed<NodeKind>, all: readonly NodeKind[]): Typed<NodeKind> {
  const types = new Set([...whole.graph.nodes.values()].map(({ type }) => type));
  const own = all.filter(({ type }) => types.has(type));
  return own.length === 0 ? whole : { ...whole, graph: { ...whole.graph, own } };
}

/** Parts of a text whose refusal leaves the rest of the graph certain. */
const harmless: readonly string[] = ['port', 'strict-graph', 'html-value', 'duplicate-attribute'];

/** What is not certain while an own node type of the project cannot be loaded. */
const aboutTypes: readonly string[] = [
  'unknown-type',
  'unknown-shape',
  'unknown-attribute',
  'attribute-kind',
  'no-effect',
];

type CheckOptions = Omit<LintOptions, 'partial'> & {
  /** What is wrong with the project of the pipeline. */
  readonly before?: readonly Diagnostic[];
  /** The project may have node types that are not loaded. */
  readonly hasOwn?: boolean;
};

function checked(
  whole: Typed<NodeKind> | undefined,
  diagnostics: readonly Diagnostic[],
  { toRun = true, strict = false, before = [], hasOwn = false, ...files }: CheckOptions,
): Omit<ReadPipeline, 'text' | 'textOf'> {
  const isOpen = before.length > 0 || (hasOwn && hasUnknownType(whole?.graph));
  const partial = isOpen || diagnostics.some(({ code }) => !harmless.includes(code));
  // What could not be read is one finding.
  const isRefused = ({ place }: Diagnostic): boolean =>
    diagnostics.some(
      (one) => place !== undefined && one.place?.span.start.offset === place.span.start.offset,
    );
  const findings =
    whole === undefined
      ? []
      : lint(whole, { toRun, strict, ...files, partial }).filter(
          (one) => !isRefused(one) && !(isOpen && aboutTypes.includes(one.code)),
        );
  const found = [...before, ...diagnostics, ...findings];
  return {
    graph: hasErrors(found) ? undefined : whole?.graph,
    anyGraph: whole?.graph,
    found,
    counts: whole === undefined ? undefined : countsOf(whole.graph),
  };
}

const hasUnknownType = (graph: Graph | undefined): boolean =>
  graph !== undefined && [...graph.nodes.values()].some(({ type }) => type === '');

function countsOf(graph: ParsedGraph): NonNullable<ReadPipeline['counts']> {
  const declared = [...graph.nodes.values()].filter((node) => node.declared).length;
  return { nodes: declared, undeclared: graph.nodes.size - declared, edges: graph.edges.length };
}

/** What the workdir of a pipeline holds. Without a `workdir` a run copies the current directory, which may be another one then:
 *  the folder of the pipeline counts too. */
function workdirFiles(graph: Graph, cwd: string): WorkdirFiles {
  const folder = resolve(cwd, graph.file, '..');
  const workdir = workdirOf(graph, {}, cwd);
  const places =
    workdir === undefined ? [] : graph.settings.workdir === undefined ? [workdir, folder] : [workdir];
  const has = (path: string): boolean => places.some((place) => existsSync(resolve(place, path)));
  const isThere =
    workdir === undefined || statSync(workdir, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere) return { workdir: 'there', has };
  return {
    workdir: 'missing',
    near: nearWorkdir(workdir),
    has,
  };
}

const nearWorkdir = (workdir: string): string | undefined =>
  basename(workdir).toLowerCase() === 'none'
    ? 'none'
    : nearest(basename(workdir), foldersIn(dirname(workdir)));

function foldersIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

type RecordedPipeline = Pick<
  Manifest,
  'pipeline' | 'pipeline_path' | 'pipeline_file' | 'pipelines' | 'node_types'
>;

/** The pipeline as a run keeps it; undefined if it cannot be read. To look at it, what the manifest has of own node
 *  types is enough; `own` has them to execute it. */
export const storedGraph = (
  manifest: RecordedPipeline,
  own: readonly NodeKind[] = recordedTypes(manifest),
): Graph | undefined => graphOfRun(manifest.pipeline_path, manifest, own);

/** The same, with the file's absolute path: what it names is found from any directory. */
export const storedGraphInPlace = (
  manifest: RecordedPipeline,
  own: readonly NodeKind[] = recordedTypes(manifest),
): Graph | undefined => graphOfRun(manifest.pipeline_file ?? manifest.pipeline_path, manifest, own);
