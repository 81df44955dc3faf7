/** What the library offers (docs/library.md). Version 0: it may change. */
export type { Agent, AgentReport, AgentTask, Usage } from './agents/agent.ts';
export { type Applied, applyProposal } from './builder/apply.ts';
export { parseProposal } from './builder/proposal.ts';
export type { OrderScope } from './builder/scope.ts';
export { type FailureStage, failureStages, type StageFailure } from './builder/stage.ts';
export { evaluate, parseCondition } from './dot/condition.ts';
export { readGraph } from './dot/read.ts';
export type { ReadPipeline } from './engine/pipeline.ts';
export type { Log, Watcher } from './engine/watch.ts';
/** Runs: each settles when the run has ended (`result`) or was refused (`problems`). */
export {
  forkRun,
  plainDoors,
  plainFlags,
  replayRun,
  resumeRun,
  startRun,
  type Where,
} from './factory/embedded.ts';
export type { ReplayRequest } from './factory/replay.ts';
export type { Doors, Environment, Finished, Refusal, RunFlags } from './factory/types.ts';
export { readPipeline } from './factory.ts';
export { lint } from './lint/lint.ts';
export type { Diagnostic, Place, Position, Span } from './model/diagnostic.ts';
export { RunEvent } from './model/event.ts';
export type { Attribute, Edge, Graph, Node, Value } from './model/graph.ts';
export { Manifest } from './model/manifest.ts';
export { FileWrite, WriteProposal } from './model/proposal.ts';
export { proposalSchema } from './model/proposal-schema.ts';
export { RunResult } from './model/result.ts';
export type { Plan, VerifyContract } from './model/work-order.ts';
/** One work order as it is read, with its parts: zod schemas, and the types of what they read. */
/** The JSON schema of a whole plan, as it is sent to a model. */
export {
  Condition,
  Postcondition,
  Provenance,
  RelativePath,
  WorkOrder,
  workPlanSchema,
} from './model/work-order.ts';
export { kinds } from './nodes/index.ts';
export type { NodeKind, Site } from './nodes/kind.ts';
/** `checkPlan(answer, { repoFiles })` reads a model's raw answer and tells everything that is wrong with it as coded
 *  findings; `plan` is there exactly when none of them is an error. It never throws, whatever the answer. Where a
 *  command is a `python -c` program, it starts the machine's `python3` once and waits for it. */
export { type Checked, checkPlan } from './planner/compile.ts';
/** `emitPlan(plan, repoFiles, from)` turns a checked plan into the work orders that are written to disk: exemptions
 *  computed, the bootstrap order left out where the repository has its script, ids renumbered, provenance added. */
export { type Emission, emit as emitPlan } from './planner/emit.ts';
/** A finding, whether it refuses the plan, and the diagnostic (with a way to mend it) that it is to people. */
export {
  type FindingCode,
  isError as isPlanError,
  type PlanFinding,
  toDiagnostic as planDiagnostic,
} from './planner/finding.ts';
/** `listRepoFiles(root)` lists what of a folder counts as its files: what `checkPlan` and `emitPlan` take. */
export { listRepoFiles } from './planner/listing.ts';
export { readRecords } from './store/journal.ts';
/** What is there: runs of a runs directory, the moments of one, its journals. */
export { findMoment, type Moment, readSoFar } from './store/moment.ts';
export { findRun, listRuns, newRunId, type RunSummary } from './store/run-store.ts';
export { type Clock, realClock } from './system/clock.ts';
