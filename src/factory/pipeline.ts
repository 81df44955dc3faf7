/** Reads pipelines with all node types. */
import * as pipelines from '../engine/pipeline.ts';
import type { Graph } from '../model/graph.ts';
import type { Manifest } from '../model/manifest.ts';
import { kinds } from '../nodes/index.ts';

type Options = Parameters<typeof pipelines.readPipelineFile>[3];

/** Reads and lints a pipeline file; `graph` is undefined when there are errors. */
export const readPipeline = (path: string, cwd: string, options?: Options): Promise<pipelines.ReadPipeline> =>
  pipelines.readPipelineFile(path, cwd, kinds, options);

/** Reads and lints a pipeline's text; files that it names are not looked at. */
export const checkPipeline = (file: string, text: string, options?: Options): pipelines.ReadPipeline =>
  pipelines.checkPipeline(file, text, kinds, options);

/** The pipeline as a run keeps it; undefined if it cannot be read. */
export const storedGraph = ({ pipeline, pipeline_path }: Manifest): Graph | undefined =>
  pipelines.graphOfText(pipeline_path, pipeline.text, kinds);

/** The same, with the file's absolute path: what it names is found from any directory. */
export const storedGraphInPlace = ({ pipeline, pipeline_file, pipeline_path }: Manifest): Graph | undefined =>
  pipelines.graphOfText(pipeline_file ?? pipeline_path, pipeline.text, kinds);
