/** `trace.jsonl`: what each stage was given and gave, and why the route went where it went. */
import type { Attribution, Rerun } from './attribution.ts';
import type { JsonObject } from './json.ts';
import type { AnsweredBy } from './outcome.ts';
import type { PausedWord } from './park.ts';
import type { Usage } from './spent.ts';

/** One edge that was looked at. Only a candidate that lost has `lost`. */
export type RouteCandidate = {
  readonly to: string;
  readonly weight: number;
  readonly condition: string;
  /** True for every unconditional edge and for every condition that is true. */
  readonly matched: boolean;
  readonly lost?: string;
};

export type ContextDelta = {
  readonly added: JsonObject;
  readonly updated: JsonObject;
  readonly removed: readonly string[];
};

/** Trace records; the journal adds `seq`, `run_id` and `epoch`, the writer `schema_version` and `at`. */
export type TraceFacts =
  | {
      readonly type: 'SessionInitialized';
      readonly pipeline_path: string;
      readonly workdir: string;
      readonly workspace: string;
      readonly resume: boolean;
      readonly agent: string;
      /** How stages are confined where their nodes say nothing. */
      readonly sandbox?: { readonly asked: string; readonly used: string; readonly why: string };
      /** What is sealed: how much, where it appears, where it was taken from; never which files. */
      readonly holdout?: {
        readonly paths: readonly string[];
        readonly files: number;
        readonly from: string;
        readonly sha256: string;
      };
    }
  | {
      readonly type: 'ResumeLoaded';
      readonly last_completed_node: string;
      readonly last_outcome: string;
      readonly completed_nodes: readonly string[];
      readonly taken_over_from?: { readonly pid: number; readonly host: string; readonly epoch: number };
      readonly processes_ended: number;
    }
  | {
      readonly type: 'ForkLoaded';
      /** The moment of another run that this one begins at. */
      readonly forked_from: {
        readonly run_id: string;
        readonly node: string;
        readonly visit: number;
        readonly before: boolean;
      };
      readonly last_completed_node: string;
      /** In full: the records before it are the other run's. */
      readonly context: JsonObject;
    }
  | { readonly type: 'PipelineStarted'; readonly start_node: string }
  | {
      readonly type: 'NodeInputCaptured';
      readonly node_id: string;
      readonly visit: number;
      readonly node_type: string;
      readonly node_shape: string;
      readonly node_attrs: JsonObject;
      /** Left out where the context is large; `fullTrace` fills it in. */
      readonly context_before?: JsonObject;
      readonly workspace: string;
      readonly node_artifact_dir: string;
      /** What its programs are confined by: `bwrap`, `unshare` or `group`. */
      readonly sandbox?: string;
    }
  | { readonly type: 'NodeExecutionErrored'; readonly node_id: string; readonly error: string }
  | {
      readonly type: 'NodeOutputCaptured';
      readonly node_id: string;
      readonly visit: number;
      readonly outcome: string;
      readonly failure_reason: string;
      readonly failure_class?: string;
      /** Of a failed program: how the class is known. */
      readonly attribution?: Attribution;
      /** Of a failed scenario that was run once more. */
      readonly rerun?: Rerun;
      /** Where the node names several agents or models. */
      readonly answered_by?: AnsweredBy;
      readonly context_updates: JsonObject;
      /** Left out where the context is large; `fullTrace` fills it in. */
      readonly context_after?: JsonObject;
      readonly context_delta: ContextDelta;
      readonly status_path: string;
      /** Of all model calls of the visit. */
      readonly usage?: Usage;
      /** Of a tool or a check: the record of another run answered. */
      readonly replayed?: true;
    }
  | {
      readonly type: 'RouteEvaluated';
      readonly from_node: string;
      readonly outcome: string;
      readonly next_node: string;
      readonly how: string;
      readonly candidates: readonly RouteCandidate[];
    }
  | { readonly type: 'PipelineCompleted' }
  | { readonly type: 'PipelineFailed'; readonly error: string }
  | { readonly type: 'PipelineInterrupted'; readonly signal: string }
  | {
      readonly type: 'PipelineParked';
      readonly status: PausedWord;
      readonly reason: string;
      readonly wake_at: string | null;
    };
