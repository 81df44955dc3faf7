/** Reads pipelines with all node types. */
import type { ReadPipeline } from '../engine/pipeline.ts';
import { readPipelineFile } from '../engine/pipeline.ts';
import { kinds } from '../nodes/index.ts';

/** Reads and lints a pipeline with all node types; `options` as for `readPipelineFile`. */
export const readPipeline = (
  path: string,
  cwd: string,
  options?: { readonly toRun?: boolean; readonly strict?: boolean },
): Promise<ReadPipeline> => readPipelineFile(path, cwd, kinds, options);
