/** The use cases that commands and the library share. */

export type { Environment } from '../core/contracts/process.ts';
export type { Refusal } from '../core/diagnostic.ts';
export { checkPipeline, readPipeline } from './read-pipeline.ts';
export { forkRun } from './run/fork.ts';
export { replayRun } from './run/replay.ts';
export { resumeRun } from './run/resume.ts';
export { startRun } from './run/start.ts';
export type { Bounds, Finished, Host, RunFlags } from './types.ts';
