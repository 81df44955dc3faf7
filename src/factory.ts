/** The use cases of runs: read a pipeline; start, resume, fork and replay runs. */
export { forkRun } from './factory/fork.ts';
export { checkPipeline, readPipeline } from './factory/pipeline.ts';
export { replayRun } from './factory/replay.ts';
export { resumeRun } from './factory/resume.ts';
export { startRun } from './factory/start.ts';
export type { Bounds, Doors, Environment, Finished, Refusal, RunFlags } from './factory/types.ts';
