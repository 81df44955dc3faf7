/** The use cases that commands and the library share. */

export type { Environment } from '../core/contracts/process.ts';
export type { Refusal } from '../core/diagnostic.ts';
export { forkRun } from './fork.ts';
export { checkPipeline, readPipeline } from './read-pipeline.ts';
export { replayRun } from './replay.ts';
export { resumeRun } from './resume.ts';
export { startRun } from './start.ts';
export type { Bounds, Doors, Finished, RunFlags } from './types.ts';
