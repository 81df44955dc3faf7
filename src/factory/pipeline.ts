/** Reads pipelines with all node types. */
import type { ReadPipeline } from '../engine/pipeline.ts';
import { readPipelineFile } from '../engine/pipeline.ts';
import { kinds } from '../nodes/index.ts';

/** Reads and lints a pipeline with all node types; `toRun` as for `readPipelineFile`. */
export const readPipeline = (
  path: string,
  cwd: string,
  options?: { readonly toRun?: boolean },
): Promise<ReadPipeline> => readPipelineFile(path, cwd, kinds, options);
