/** The library: what docs/library.md documents. */

export {
  forkLocalRun as forkRun,
  plainFlags,
  plainHost,
  replayLocalRun as replayRun,
  resumeLocalRun as resumeRun,
  startLocalRun as startRun,
} from './app/embedded.ts';
export { kinds } from './app/kinds.ts';
export { checkPipeline, type ReadPipeline, readPipeline } from './app/read-pipeline.ts';
export type { ReplayRequest } from './app/run/replay-seed.ts';
export type { Finished, Host, RunFlags } from './app/types.ts';
export { type Applied, applyProposal } from './builder/apply.ts';
export { parseProposal } from './builder/proposal.ts';
export type { OrderScope } from './builder/scope.ts';
export type { Usage } from './core/budget/usage.ts';
export { evaluate, parseCondition } from './core/conditions.ts';
export type { Agent, AgentReport, AgentTask } from './core/contracts/agent.ts';
export type { Clock } from './core/contracts/clock.ts';
export type { NodeContext, NodeKind } from './core/contracts/node-kind.ts';
export type { NodeModule, NodeTools, OwnNodeKind } from './core/contracts/own-kind.ts';
export type { Environment } from './core/contracts/process.ts';
export type { Log, Watcher } from './core/contracts/watcher.ts';
export type { Diagnostic, Place, Position, Refusal, Span } from './core/diagnostic.ts';
export { type RunEvent, runEventSchema } from './core/events.ts';
export type { Edge, Graph, Node } from './core/graph.ts';
export { type FailureStage, failureStages, type StageFailure } from './core/orders/failure-stage.ts';
export {
  type FileWrite,
  fileWriteSchema,
  proposalSchema,
  type WriteProposal,
  writeProposalSchema,
} from './core/orders/proposal.ts';
export {
  type Condition,
  conditionSchema,
  type Plan,
  type Provenance,
  postconditionSchema,
  provenanceSchema,
  relativePathSchema,
  type VerifyContract,
  type WorkOrder,
  workOrderSchema,
  workPlanSchema,
} from './core/orders/work-order.ts';
export type { Context, Outcome } from './core/outcome.ts';
export { nodeTools } from './core/own-kind.ts';
export { type Manifest, manifestSchema } from './core/records/manifest.ts';
export { type RunResult, runResultSchema } from './core/records/result.ts';
export type { Attribute, Value } from './core/settings/types.ts';
export { type Checked, checkPlan } from './planner/compile.ts';
export { type Emission, emit as emitPlan } from './planner/emit.ts';
export { listRepoFiles } from './planner/files.ts';
export {
  type FindingCode,
  isError as isPlanError,
  type PlanFinding,
  toDiagnostic as planDiagnostic,
} from './planner/findings.ts';
export { realClock } from './platform/clock.ts';
export { readRecords } from './run/journal-read.ts';
export { findMoment, type Moment } from './run/moment.ts';
export { openRun, RunReader } from './run/open-run.ts';
export { findRun, newRunId } from './run/runs.ts';
export { listRuns, type RunSummary } from './run/summary.ts';
export {
  type ApiClient,
  ApiFailure,
  type ClientOptions,
  createClient,
  type StreamMessage,
} from './web/client.ts';
