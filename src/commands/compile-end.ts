/** The end of `factory plan SPEC`: records, exports and the exit code, when the run of the compilation has ended. */
import { join } from 'node:path';
import { openaiDefaults } from '../agents/openai/defaults.ts';
import type { Finished } from '../factory.ts';
import { layout } from '../model/layout.ts';
import { readIfThere } from '../planner/desk.ts';
import { manifestFile } from '../planner/emit.ts';
import { askingNodes, type Evidence, gather } from '../planner/evidence.ts';
import {
  findingsText,
  type PlanDefaults,
  type PlanEnding,
  type PlannerRecords,
  plannerRecords,
  tellsOfSuccess,
} from '../planner/records.ts';
import type { PlanRequest } from '../planner/request.ts';
import { exportFindings, exportOrders, writeRecords } from '../planner/shelf.ts';
import { quoteWord } from '../policy/words.ts';
import { loadCheckpoint } from '../store/checkpoint.ts';
import { DiskStop, diskTrouble } from '../system/disk-trouble.ts';
import { systemWords } from '../system/files.ts';
import { compileDefaults, readPlanRequest, refusedByFiles, usageWrong } from './compile-request.ts';
import type { RunDoors } from './run.ts';

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
    // Of the parts of an exchange only its silence has a limit of ours; the others are the runtime's own.
    connect_timeout: null,
    read_timeout: openaiDefaults.idleMs / 1000,
    write_timeout: null,
    pool_timeout: null,
    // As older records count them: tries, the first one included.
    max_transport_retries: openaiDefaults.maxRetries + 1,
    transport_retry_base_s: openaiDefaults.firstRetryMs / 1000,
    poll_interval_s: openaiDefaults.pollMs / 1000,
    poll_deadline_s: openaiDefaults.pollDeadlineMs / 1000,
  },
};

/** Everything that is left to do when the run of a compilation has ended: records, exports, and the exit code. May be
 *  done again: the same run leaves the same tree. `overwrite` replaces orders in the output folder, as does the request. */
export async function finishCompile(
  runDir: string,
  ended: Finished,
  io: Pick<RunDoors, 'clock'>,
  overwrite = false,
): Promise<FinishedCompile> {
  const request = await readPlanRequest(runDir);
  if (request === undefined) throw new Error(`Internal: ${runDir} is no run of a compilation`);
  const { result } = ended;
  const dir = join(request.artifacts, 'planner', result.run_id);
  const read = await loadCheckpoint(layout(runDir).checkpoint);
  const over = read.ok && read.checkpoint.ended !== null ? read.checkpoint : undefined;
  const times = {
    finishedAt: over?.at ?? io.clock.now().toISOString(),
    elapsedMs: over?.elapsed_ms ?? result.elapsed_ms,
  };
  const isGood = result.status === 'completed';
  const closed = (ending: PlanEnding, evidence: Evidence): FinishedCompile => {
    const records = plannerRecords(result.run_id, request, evidence, ending, defaults);
    return { ...ending, request, evidence, records, dir, runDir, runId: result.run_id, next: result.next };
  };
  // What has been handed over is its owner's: it is not put back.
  const handed = { ...times, code: 0, reason: result.reason, exportedTo: request.outdir };
  const told = isGood ? await readIfThere(join(dir, 'run.json')) : undefined;
  const isHanded = told !== undefined && tellsOfSuccess(told, handed);
  if (isHanded && (await readIfThere(join(dir, 'output', manifestFile))) !== undefined)
    return closed(handed, await gather(runDir, isGood, dir));
  const evidence = await gather(runDir, isGood);
  let code = codeOf(ended, evidence);
  let { reason } = result;
  let exportedTo: string | null = null;
  const findings = code === usageWrong ? findingsText(evidence) : undefined;
  if (isHanded) exportedTo = request.outdir;
  else if (request.outdir !== null && (code === 0 || findings !== undefined)) {
    const problem =
      findings === undefined
        ? await exportOrders(request.outdir, evidence.output, overwrite || request.overwrite)
        : await exportFindings(request.outdir, findings);
    if (problem === undefined) exportedTo = request.outdir;
    else {
      reason = reason === '' ? problem.problem : `${reason}; ${problem.problem}`;
      if (code === 0) code = refusedByFiles;
    }
  }
  const done = closed({ ...times, code, reason, exportedTo }, evidence);
  await writeRecords(dir, done.records.files).catch((error: unknown) => {
    const trouble = diskTrouble(error);
    if (trouble === undefined) throw error;
    const what = `${trouble.path ?? dir}: ${systemWords(trouble.error)}; the run has ended, and its records are not whole`;
    throw new DiskStop(
      what,
      `mend that (space, permissions), then: factory resume ${quoteWord(runDir)}`,
      error,
    );
  });
  return done;
}

export type FinishedCompile = {
  readonly code: number;
  readonly reason: string;
  readonly exportedTo: string | null;
  readonly request: PlanRequest;
  readonly evidence: Evidence;
  readonly records: PlannerRecords;
  /** The folder of its records. */
  readonly dir: string;
  readonly runDir: string;
  readonly runId: string;
  /** The command that goes on with it; empty when there is none. */
  readonly next: string;
};

/** The exit code that a compilation's run has: the run says that a check failed, this says how. */
function codeOf({ result, code }: Finished, { attempts }: Evidence): number {
  if (result.status !== 'failed') return code;
  const asked: readonly (string | null)[] = [askingNodes.first, askingNodes.later];
  const last = attempts.at(-1)?.checked;
  // No program, no way to start it: nobody was there who could be asked.
  if (asked.includes(result.failed_node))
    return result.failure_class === 'config' || (code === 4 && last === undefined) ? modelFailed : code;
  if (result.failed_node !== 'check' || result.failure_class === 'config' || last === undefined) return code;
  return last.parseError ? 4 : usageWrong;
}
