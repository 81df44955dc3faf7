/** The use cases that commands and the library share. */

export type { Environment } from '../core/contracts/process.ts';
export type { Refusal } from '../core/diagnostic.ts';
export { checkPipeline, readPipeline } from './read-pipeline.ts';
export { forkRun, replayRun, resumeRun, startRun } from './run/index.ts';
export type { Bounds, Finished, Host, RunFlags } from './types.ts';
