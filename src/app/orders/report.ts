/** `run.json` and `run_summary.json` of the run of a work order. */
import { join } from 'node:path';
import { canonicalHash, type JsonObject } from '../../core/json.ts';
import { fileLimit, totalLimit } from '../../core/orders/proposal.ts';
import { maxContextFiles } from '../../core/orders/work-order.ts';
import { layout } from '../../core/records/layout.ts';
import type { PushResult } from '../../git/push.ts';
import { writeJson } from '../../platform/files/write.ts';
import { packageVersion } from '../../platform/package.ts';
import { type AttemptRecord, writeAttempts, writeSorted } from './attempts.ts';
import type { OrderRequest } from './sources.ts';

export type OrderEnding = {
  /** `NO_CHANGE`: the answer changed no file. */
  readonly verdict: 'PASS' | 'NO_CHANGE' | 'FAIL' | 'ERROR';
  readonly reason: string;
  readonly interrupted: boolean;
  /** The tree of the final commit. */
  readonly tree: string | null;
  /** New commits on the branch. */
  readonly commits: readonly string[];
  readonly push: PushResult | null;
  readonly finishedAt: string;
};

/** Writes the report of a run from its directory; answers with the attempts. Repeating it replaces the report. */
export async function writeReport(
  request: OrderRequest,
  runDir: string,
  ending: OrderEnding,
): Promise<readonly AttemptRecord[]> {
  const attempts = await writeAttempts(layout(runDir), request.artifacts, request.baseline);
  const summary = summaryOf(request, ending, attempts);
  await writeSorted(join(request.artifacts, 'run_summary.json'), summary);
  const outputs = {
    total_attempts: attempts.length,
    repo_tree_hash_after: ending.tree,
    run_summary_sha256: canonicalHash(summary),
  };
  await writeJson(join(request.artifacts, 'run.json'), runRecord(request, ending, outputs));
  return attempts;
}

function runRecord(request: OrderRequest, ending: OrderEnding, outputs: JsonObject): JsonObject {
  return {
    run_id: request.run_id,
    tool: 'factory',
    started_at_utc: request.started_at,
    finished_at_utc: ending.finishedAt,
    // A resume of an interrupted run sets the verdict.
    verdict: ending.interrupted ? null : ending.verdict,
    status: ending.interrupted ? 'interrupted' : ending.verdict.toLowerCase(),
    reason: ending.reason,
    work_order_id: request.work_order_id,
    version: { factory: packageVersion(), ...request.program },
    config: configOf(request),
    inputs: {
      work_order_path: request.work_order_path,
      work_order_sha256: request.work_order_sha256,
      baseline_commit_requested: request.baseline_requested,
      baseline_source: request.baseline_source,
    },
    git_workflow: {
      starting_branch: request.starting_branch,
      working_branch: request.branch,
      branch_mode: request.branch_mode,
      branch_existed_at_start: request.branch_existed,
      baseline_commit_effective: request.baseline,
      commit_hashes_created: [...ending.commits],
      push_attempted: ending.push !== null,
      push_result: pushRecord(ending.push),
    },
    outputs: ending.interrupted ? null : outputs,
    planner_ref: request.planner_ref,
    artifacts: { run_summary: 'run_summary.json', work_order_snapshot: 'work_order.json' },
    export: { out_dir: request.out_dir },
  };
}

/** Without a remote there is no name, not an empty one. */
const pushRecord = (push: PushResult | null): JsonObject | null =>
  push === null ? null : { ...push, remote: push.remote === '' ? null : push.remote };

const configOf = (request: OrderRequest): JsonObject => ({
  llm_model: request.model,
  llm_temperature: request.temperature,
  max_attempts: request.max_attempts,
  timeout_seconds: request.timeout_seconds,
  repo_root: request.repo,
});

const summaryOf = (
  request: OrderRequest,
  ending: OrderEnding,
  attempts: readonly AttemptRecord[],
): JsonObject => ({
  run_id: request.run_id,
  work_order_id: request.work_order_id,
  verdict: ending.verdict,
  total_attempts: attempts.length,
  baseline_commit: request.baseline,
  baseline_source: request.baseline_source,
  working_branch: request.branch,
  repo_tree_hash_after: ending.tree,
  // Work is done on a copy, so there is nothing to roll back.
  rollback_failed: false,
  ...(ending.verdict === 'ERROR' ? { remediation: null, error: ending.reason, error_traceback: null } : {}),
  config: {
    ...configOf(request),
    out_dir: request.out_dir,
    defaults: {
      default_max_attempts: 5,
      default_llm_temperature: 0,
      default_timeout_seconds: 600,
      default_llm_timeout: 600,
      run_id_hex_length: 26,
      max_file_write_bytes: fileLimit,
      max_total_write_bytes: totalLimit,
      max_json_payload_bytes: 10_485_760,
      max_context_bytes: 204_800,
      max_context_files: maxContextFiles,
      max_excerpt_chars: 8192,
      git_timeout_seconds: 30,
    },
  },
  attempts: [...attempts],
});
