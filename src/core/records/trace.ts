/** `trace.jsonl`: input and output of each execution, and the reasons for each route. */
import type { Usage } from '../budget/usage.ts';
import type { JsonObject } from '../json.ts';
import type { AnsweredBy, Attribution, PausedWord, Rerun } from '../outcome.ts';

/** One edge that was considered. Only a candidate that was not chosen has `lost`. */
export type RouteCandidate = {
  readonly to: string;
  readonly weight: number;
  readonly condition: string;
  /** True for every unconditional edge and for every condition that is true. */
  readonly matched: boolean;
  /** Keys that its condition read and that nothing has set: each counts as empty. */
  readonly unset?: readonly string[];
  readonly lost?: string;
};

export type ContextDelta = {
  readonly added: JsonObject;
  readonly updated: JsonObject;
  readonly removed: readonly string[];
};

/** Trace records without version and time; the view adds `run_id`, `seq`, `epoch` and `line`. */
export type TraceFacts =
  | {
      readonly type: 'SessionInitialized';
      readonly pipeline_path: string;
      readonly workdir: string;
      readonly workspace: string;
      readonly resume: boolean;
      readonly agent: string;
      /** The sandbox of nodes without a setting. */
      readonly sandbox?: { readonly asked: string; readonly used: string; readonly why: string };
      /** The holdout: size, paths, source and hash; never file names. */
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
      /** The checkpoint of the other run from which this one was forked. */
      readonly forked_from: {
        readonly run_id: string;
        readonly node: string;
        readonly visit: number;
        readonly before: boolean;
      };
      readonly last_completed_node: string;
      /** In full, because the records before are in the other run. */
      readonly context: JsonObject;
    }
  | { readonly type: 'PipelineStarted'; readonly start_node: string }
  | {
      readonly type: 'NodeInputCaptured';
      readonly node_id: string;
      /** The innermost branch that the node runs in. */
      readonly branch?: string;
      readonly visit: number;
      readonly node_type: string;
      readonly node_shape: string;
      readonly node_attrs: JsonObject;
      /** Omitted if the context is large; `completeRecords` restores it. */
      readonly context_before?: JsonObject;
      readonly workspace: string;
      readonly node_artifact_dir: string;
      /** The confinement of its programs: `bwrap`, `unshare` or `group`. */
      readonly sandbox?: string;
    }
  | { readonly type: 'NodeExecutionErrored'; readonly node_id: string; readonly error: string }
  | {
      readonly type: 'NodeOutputCaptured';
      readonly node_id: string;
      readonly branch?: string;
      readonly visit: number;
      readonly outcome: string;
      readonly failure_reason: string;
      readonly failure_class?: string;
      /** How the class of a failed program was determined. */
      readonly attribution?: Attribution;
      /** The second run of a failed scenario. */
      readonly rerun?: Rerun;
      /** Present if the node names several agents or models. */
      readonly answered_by?: AnsweredBy;
      readonly context_updates: JsonObject;
      /** Omitted if the context is large; `completeRecords` restores it. */
      readonly context_after?: JsonObject;
      readonly context_delta: ContextDelta;
      readonly status_path: string;
      /** Of all model calls of the execution. */
      readonly usage?: Usage;
      /** The recorded result of another run was used for this tool or verification. */
      readonly replayed?: true;
    }
  | {
      readonly type: 'RouteEvaluated';
      readonly from_node: string;
      readonly branch?: string;
      readonly outcome: string;
      readonly next_node: string;
      readonly how: string;
      readonly candidates: readonly RouteCandidate[];
    }
  | { readonly type: 'PipelineCompleted' }
  | { readonly type: 'PipelineFailed'; readonly error: string }
  | { readonly type: 'PipelineOverridden'; readonly reason: string }
  | { readonly type: 'PipelineInterrupted'; readonly signal: string }
  | {
      readonly type: 'PipelineParked';
      readonly status: PausedWord;
      readonly reason: string;
      readonly wake_at: string | null;
    };

export type TraceRecord = TraceFacts & { readonly schema_version: 1; readonly at: string };
