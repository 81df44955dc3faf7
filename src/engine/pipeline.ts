/** Reads and lints a pipeline file, and reads its run-wide attributes. */
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { readGraph } from '../dot/read.ts';
import { lint } from '../lint/lint.ts';
import { present } from '../model/attribute.ts';
import type { Diagnostic } from '../model/diagnostic.ts';
import { hasErrors } from '../model/diagnostic.ts';
import type { Graph, Node } from '../model/graph.ts';
import type { Json } from '../model/json.ts';
import { kindOf } from '../model/resolve.ts';
import type { NodeKind } from '../nodes/kind.ts';
import { systemWords } from '../system/files.ts';

export type ReadPipeline = {
  /** Undefined when the pipeline cannot be run. */
  readonly graph: Graph | undefined;
  /** Undefined when the file cannot be read. */
  readonly text: string | undefined;
  readonly found: readonly Diagnostic[];
  /** What the file declares, as far as it could be read. */
  readonly counts:
    | { readonly nodes: number; readonly undeclared: number; readonly edges: number }
    | undefined;
};

/** Reads and lints a pipeline; `graph` is undefined when there are errors. Without `toRun`, commands that a guardrail would
 *  refuse are errors too; with `strict`, attributes that nothing reads. */
export async function readPipelineFile(
  path: string,
  cwd: string,
  kinds: readonly NodeKind[],
  { toRun = true, strict = false }: { readonly toRun?: boolean; readonly strict?: boolean } = {},
): Promise<ReadPipeline> {
  const read = await pipelineText(path, cwd);
  if ('problem' in read)
    return { graph: undefined, text: undefined, found: [read.problem], counts: undefined };
  const parsed = readGraph(path, read.text);
  const findings =
    parsed.graph === undefined
      ? []
      : lint(parsed.graph, kinds, {
          toRun,
          strict,
          prompts: await promptFiles(parsed.graph, cwd),
          // After these errors the rest of the graph is still certain.
          partial: parsed.diagnostics.some(
            ({ code }) => !['port', 'strict-graph', 'html-value', 'duplicate-attribute'].includes(code),
          ),
        });
  const found = [...parsed.diagnostics, ...findings];
  return {
    graph: hasErrors(found) ? undefined : parsed.graph,
    text: read.text,
    found,
    counts: parsed.graph === undefined ? undefined : countsOf(parsed.graph),
  };
}

function countsOf(graph: Graph): NonNullable<ReadPipeline['counts']> {
  const declared = [...graph.nodes.values()].filter((node) => node.declared).length;
  return { nodes: declared, undeclared: graph.nodes.size - declared, edges: graph.edges.length };
}

/** Texts of prompts given as `@file`; files that cannot be read are left out, `readInputs` reports them. */
async function promptFiles(graph: Graph, cwd: string): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  for (const node of graph.nodes.values()) {
    const reference = present(node.attrs, 'prompt')?.value.text.trim();
    if (reference === undefined || !reference.startsWith('@') || texts.has(reference)) continue;
    const path = resolve(cwd, graph.file, '..', reference.slice(1));
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) texts.set(reference, text);
  }
  return texts;
}

/** The text of a pipeline file, `path` as the user typed it, or why there is none. */
export async function pipelineText(
  path: string,
  cwd: string,
): Promise<{ text: string } | { problem: Diagnostic }> {
  const no = (message: string, fix: string) => ({
    problem: { code: 'pipeline-file', severity: 'error' as const, message, fix },
  });
  if (path === '') return no('the name of the pipeline file is empty', 'name a .dot file');
  try {
    const file = resolve(cwd, path);
    // Reading a pipe may block, so it must not block signals.
    const bytes = statSync(file).isFile() ? readFileSync(file) : await readFile(file);
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR')
      return no(
        `there is no pipeline file ${path}`,
        path === '-' ? 'name a .dot file; standard input is /dev/stdin' : 'name a .dot file',
      );
    if (code === 'EISDIR') return no(`${path} is a folder, not a pipeline file`, 'name a .dot file in it');
    if (code === 'EACCES') return no(`${path} may not be read`, 'check its permissions');
    if (error instanceof TypeError)
      return no(`${path} is not UTF-8 text`, 'a pipeline is a Graphviz DOT text file');
    return no(
      `cannot read ${path.length > 200 ? `${path.slice(0, 200)}…` : path}: ${systemWords(error)}`,
      'name a .dot file',
    );
  }
}

/** True for pipelines with `factory order` tools: their runs have a git history. */
export function buildsHistory(graph: Graph): boolean {
  return [...graph.nodes.values()].some((node) =>
    /^\s*factory\s+order\s/.test(present(node.attrs, 'tool_command')?.value.text ?? ''),
  );
}

/** The node where the run starts. */
export const startOf = (graph: Graph, kinds: readonly NodeKind[]): Node => {
  const found = [...graph.nodes.values()].find((node) => kindOf(node, kinds)?.type === 'start');
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
  const attribute = present(graph.attrs, 'workdir')?.value.text.trim();
  if (attribute === 'none') return undefined;
  return attribute === undefined ? cwd : resolve(cwd, graph.file, '..', attribute);
}

/** The graph's goal, with its type. */
export function goalOf(graph: Graph): Json | undefined {
  const goal = present(graph.attrs, 'goal')?.value;
  return goal === undefined
    ? undefined
    : goal.kind === 'string' || goal.kind === 'duration'
      ? goal.text
      : goal.value;
}
