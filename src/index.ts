/** The library (docs/library.md). Version 0: it may change. */
export type { Agent, AgentReport, AgentTask, Usage } from './agents/agent.ts';
export { type Applied, applyProposal } from './builder/apply.ts';
export { parseProposal } from './builder/proposal.ts';
export type { OrderScope } from './builder/scope.ts';
export { type FailureStage, failureStages, type StageFailure } from './builder/stage.ts';
export { evaluate, parseCondition } from './dot/condition.ts';
export type { ReadPipeline } from './engine/pipeline.ts';
export type { Log, Watcher } from './engine/watch.ts';
/** Each settles when the run has ended (`result`) or was refused (`problems`). */
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
/** `readPipeline(path, cwd)` reads and checks a file, `checkPipeline(file, text)` a text. */
export { checkPipeline, readPipeline } from './factory.ts';
export type { Diagnostic, Place, Position, Span } from './model/diagnostic.ts';
export { type RunEvent, runEventSchema } from './model/event.ts';
export type { Attribute, Edge, Graph, Node, Value } from './model/graph.ts';
export { type Manifest, manifestSchema } from './model/manifest.ts';
export {
  type FileWrite,
  fileWriteSchema,
  type WriteProposal,
  writeProposalSchema,
} from './model/proposal.ts';
export { proposalSchema } from './model/proposal-schema.ts';
export { type RunResult, runResultSchema } from './model/result.ts';
export type { Plan, VerifyContract } from './model/work-order.ts';
/** Zod schemas and types of a work order and its parts; `workPlanSchema` is the JSON schema of a plan for models. */
export {
  type Condition,
  conditionSchema,
  type Provenance,
  postconditionSchema,
  provenanceSchema,
  relativePathSchema,
  type WorkOrder,
  workOrderSchema,
  workPlanSchema,
} from './model/work-order.ts';
export { kinds } from './nodes/index.ts';
export type { NodeContext, NodeKind } from './nodes/kind.ts';
/** `checkPlan(answer, { repoFiles })` checks a model's raw answer and returns all findings with codes; `plan` is set exactly if
 *  none of them is an error. It never throws. For `python -c` commands it starts the machine's `python3` once. */
export { type Checked, checkPlan } from './planner/compile.ts';
/** `emitPlan(plan, repoFiles, from)` turns a checked plan into work orders: computes exemptions, leaves out the bootstrap order
 *  if the repository has its script, renumbers ids, adds provenance. */
export { type Emission, emit as emitPlan } from './planner/emit.ts';
/** A finding, whether it is an error, and its diagnostic with a fix. */
export {
  type FindingCode,
  isError as isPlanError,
  type PlanFinding,
  toDiagnostic as planDiagnostic,
} from './planner/finding.ts';
/** `listRepoFiles(root)` lists the files of a folder for `checkPlan` and `emitPlan`. */
export { listRepoFiles } from './planner/listing.ts';
export { readRecords } from './store/journal.ts';
/** Runs of a runs directory, the checkpoints of a run, its journals. */
export { findMoment, type Moment } from './store/moment.ts';
export { readRun as readSoFar } from './store/run-journal.ts';
export { findRun, listRuns, newRunId, type RunSummary } from './store/run-store.ts';
export { type Clock, realClock } from './system/clock.ts';
