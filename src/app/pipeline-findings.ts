/** What is wrong with a pipeline as its author sees it: `factory validate`, editors and the page. */
import { type Diagnostic, hasErrors } from '../core/diagnostic.ts';
import { readInputs, requiredVariable } from './inputs.ts';
import { type ReadOptions, type ReadPipeline, readPipeline } from './read-pipeline.ts';
import { unknownAgentNames } from './resolve-agents.ts';

export type PipelineFindings = ReadPipeline & {
  /** Hints only where nothing is wrong: they can wait until then. */
  readonly diagnostics: readonly Diagnostic[];
};

/** Reads a pipeline file, `path` relative to `cwd`, and everything that it names. */
export async function pipelineFindings(
  path: string,
  cwd: string,
  options: Omit<ReadOptions, 'toRun' | 'release' | 'kinds'> = {},
): Promise<PipelineFindings> {
  const read = await readPipeline(path, cwd, { ...options, toRun: false });
  const { graph, found } = read;
  const inputs = graph === undefined ? undefined : await readInputs(graph, {}, cwd);
  const all = [
    ...found,
    ...(graph === undefined ? [] : unknownAgentNames(graph)),
    // A run sets the variables that have no default.
    ...(inputs !== undefined && 'problems' in inputs
      ? inputs.problems.filter(({ code }) => code !== requiredVariable)
      : []),
  ];
  const diagnostics = hasErrors(all) ? all.filter(({ severity }) => severity !== 'hint') : all;
  return { ...read, diagnostics };
}
