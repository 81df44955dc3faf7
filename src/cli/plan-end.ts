/** The end of `factory plan SPEC`: export, report and exit code. */
import { join } from 'node:path';
import { openaiDefaults } from '../agents/openai/settings.ts';
import type { Finished } from '../app/types.ts';
import type { Context } from '../core/outcome.ts';
import { quoteWord } from '../core/policy/words.ts';
import { type PlanLevels, planLevelsIn } from '../core/records/ahead.ts';
import { exportFindings, exportOrders, recordsDirectory, writeRecords } from '../planner/artifacts.ts';
import { manifestFile } from '../planner/emit.ts';
import {
  askingNodes,
  gatherPlanEvidence,
  type PlanEvidence,
  type PlanRequest,
  planRequestFile,
  planRequestSchema,
} from '../planner/evidence.ts';
import { readIfThere } from '../planner/files.ts';
import {
  findingsText,
  type PlanDefaults,
  type PlanEnding,
  type PlannerRecords,
  plannerRecords,
  reportsSuccess,
} from '../planner/report.ts';
import { planStateIn } from '../planner/state.ts';
import { DiskStop, diskError } from '../platform/files/disk-error.ts';
import { systemWords } from '../platform/files/write.ts';
import { openRun } from '../run/open-run.ts';
import { readStoredJson } from '../run/runs.ts';
import type { RunHost } from './flags.ts';
import { compileDefaults } from './options.ts';
import { refusedByFiles, usageWrong } from './plan-request.ts';

export const modelFailed = 3;

export const defaults: PlanDefaults = {
  max_output_tokens: openaiDefaults.maxOutputTokens,
  snapshot: {
    default_model: compileDefaults.model,
    default_reasoning_effort: compileDefaults.effort,
    default_max_output_tokens: openaiDefaults.maxOutputTokens,
    max_compile_attempts: compileDefaults.attempts,
    max_incomplete_retries: 1,
    max_incomplete_token_cap: openaiDefaults.mostOutputTokens,
    // Only the time without data has a limit; the others are those of the runtime.
    connect_timeout: null,
    read_timeout: openaiDefaults.idleMs / 1000,
    write_timeout: null,
    pool_timeout: null,
    // Counts the first one too.
    max_transport_retries: openaiDefaults.maxRetries + 1,
    transport_retry_base_s: openaiDefaults.firstRetryMs / 1000,
    poll_interval_s: openaiDefaults.pollMs / 1000,
    poll_deadline_s: openaiDefaults.pollDeadlineMs / 1000,
  },
};

/** Exports the work orders and writes the report of a run that has ended. A success that is reported already is not exported
 *  again. */
export async function finishCompile(
  runDir: string,
  ended: Finished,
  io: Pick<RunHost, 'clock'>,
): Promise<FinishedCompile> {
  const request = await readStoredJson(runDir, planRequestFile, planRequestSchema());
  if (request === undefined) throw new Error(`Internal: ${runDir} is no run of factory plan`);
  const { result } = ended;
  const dir = recordsDirectory(request.artifacts, result.run_id);
  const read = openRun(runDir).history();
  const over = read.ok && read.checkpoint.ended !== null ? read.checkpoint : undefined;
  const times = {
    finishedAt: over?.at ?? io.clock.now().toISOString(),
    elapsedMs: over?.elapsed_ms ?? result.elapsed_ms,
  };
  const succeeded = result.status === 'completed';
  const evidence = await gatherPlanEvidence(
    runDir,
    planStateIn(read.ok ? read.checkpoint.tool_state : undefined),
    succeeded,
  );
  const reported = succeeded ? await readIfThere(join(dir, 'run.json')) : undefined;
  const isReported = reported !== undefined && reportsSuccess(reported);
  const ending = isReported
    ? { ...times, code: 0, reason: '', exportedTo: request.outdir }
    : { ...times, ...(await exportPlan(request, evidence, ended)) };
  const records = plannerRecords(result.run_id, request, evidence, ending, defaults);
  // Without the workspace there is nothing to write the report from.
  if (!isReported || evidence.output[manifestFile] !== undefined)
    await writeRecords(dir, records.files).catch((error: unknown) => {
      const trouble = diskError(error);
      if (trouble === undefined) throw error;
      const what = `${trouble.path ?? dir}: ${systemWords(trouble.error)}; the run has ended, but its report is incomplete`;
      const fix = `fix that (space, permissions), then: factory resume ${quoteWord(runDir)}`;
      throw new DiskStop(what, fix, error);
    });
  const levels = read.ok ? levelsOf(read.checkpoint.context, evidence) : [];
  return {
    ...{ ...ending, request, evidence, levels, records, dir, runDir },
    ...{ runId: result.run_id, next: result.next },
  };
}

/** Only levels of several orders are recorded. */
function levelsOf(context: Context, { output }: PlanEvidence): PlanLevels {
  const levels = planLevelsIn(context);
  const orders = Object.keys(output).filter((name) => name !== manifestFile);
  return levels.length > 0 ? levels : orders.map((name) => [name.replace(/\.json$/, '')]);
}

/** Exports the orders of a valid plan, or the findings of one with errors. */
async function exportPlan(
  request: PlanRequest,
  evidence: PlanEvidence,
  ended: Finished,
): Promise<Pick<PlanEnding, 'code' | 'reason' | 'exportedTo'>> {
  const { outdir } = request;
  const { reason } = ended.result;
  const code = codeOf(ended, evidence);
  const findings = code === usageWrong ? findingsText(evidence) : undefined;
  if (outdir === null || (code !== 0 && findings === undefined)) return { code, reason, exportedTo: null };
  const problem =
    findings === undefined
      ? await exportOrders(outdir, evidence.output, request.overwrite)
      : await exportFindings(outdir, findings);
  if (problem === undefined) return { code, reason, exportedTo: outdir };
  const both = reason === '' ? problem.problem : `${reason}; ${problem.problem}`;
  return { code: code === 0 ? refusedByFiles : code, reason: both, exportedTo: null };
}

export type FinishedCompile = PlanEnding & {
  readonly request: PlanRequest;
  readonly evidence: PlanEvidence;
  /** The orders by when they can be asked for, those of one level together. */
  readonly levels: PlanLevels;
  readonly records: PlannerRecords;
  /** The directory of the report. */
  readonly dir: string;
  readonly runDir: string;
  readonly runId: string;
  /** The command to resume it; empty when there is none. */
  readonly next: string;
};

/** The exit code of a compilation: the run says that a check failed, this says how. */
function codeOf({ result, code }: Finished, { attempts }: PlanEvidence): number {
  if (result.status !== 'failed') return code;
  const asked: readonly (string | null)[] = [askingNodes.first, askingNodes.later];
  const last = attempts.at(-1)?.checked;
  // The agent could not be started.
  if (asked.includes(result.failed_node))
    return result.failure_class === 'config' || (code === 4 && last === undefined) ? modelFailed : code;
  if (result.failed_node !== 'check' || result.failure_class === 'config' || last === undefined) return code;
  return last.parseError ? 4 : usageWrong;
}
