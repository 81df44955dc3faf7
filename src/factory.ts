/** THE WIRING's face: pipelines read against every node kind there is, runs started and taken up again. */
import type { ReadPipeline } from './engine/pipeline.ts';
import { readPipelineFile } from './engine/pipeline.ts';
import { kinds } from './nodes/index.ts';

export { forkRun } from './factory/fork.ts';
export { replayRun } from './factory/replay.ts';
export { resumeRun } from './factory/resume.ts';
export { startRun } from './factory/start.ts';
export type { Bounds, Doors, Environment, Finished, Refusal, RunFlags } from './factory/types.ts';

/** Reads and lints a pipeline against every node kind there is. */
export const readPipeline = (path: string, cwd: string): Promise<ReadPipeline> =>
  readPipelineFile(path, cwd, kinds);
