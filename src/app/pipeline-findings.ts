/** What is wrong with a pipeline as its author sees it: `factory validate`, editors and the page. */
import { type Diagnostic, hasErrors } from '../core/diagnostic.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { readInputs, requiredVariable } from './inputs.ts';
import { setupAhead } from './project-setup.ts';
import { type ReadOptions, type ReadPipeline, readPipeline } from './read-pipeline.ts';
import { unknownAgentNames } from './resolve-agents.ts';

export type PipelineFindings = ReadPipeline & {
  /** Hints only where nothing is wrong: they can wait until then. */
  readonly diagnostics: readonly Diagnostic[];
  /** Commands that a run executes before its first node, unless it is given another workdir. */
  readonly setup: Manifest['setup'];
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
  const setup = graph === undefined ? undefined : setupAhead(graph, cwd, options.env ?? {});
  const refused = setup !== undefined && 'problems' in setup ? setup.problems : undefined;
  const all = [
    ...found,
    ...(graph === undefined ? [] : unknownAgentNames(graph)),
    // A run sets the variables that have no default.
    ...(inputs !== undefined && 'problems' in inputs
      ? inputs.problems.filter(({ code }) => code !== requiredVariable)
      : []),
    // A file that cannot be read at all was reported.
    ...(found.some(({ code }) => code === 'project-file') ? [] : (refused ?? [])),
  ];
  const diagnostics = hasErrors(all) ? all.filter(({ severity }) => severity !== 'hint') : all;
  return { ...read, diagnostics, setup: setup !== undefined && 'problems' in setup ? undefined : setup };
}
