/** The report of a compilation as the texts of files, made from the run directory: an interrupted and resumed run leaves the
 *  same files as an uninterrupted one. */
import * as z from 'zod';
import { extractJson, maxAnswerCharacters } from '../core/answer-json.ts';
import { asciiJson, canonicalHash, isObject, type Json, type JsonObject, sortedKeys } from '../core/json.ts';
import { once } from '../core/once.ts';
import { manifestFile } from './emit.ts';
import type { AttemptEvidence, PlanEvidence, PlanRequest } from './evidence.ts';
import { isList } from './order-view.ts';
import type { EarlierFinding } from './prompt.ts';

/** How a compilation ended. */
export type PlanEnding = {
  /** Exit code of the command. */
  readonly code: number;
  /** Empty on success. */
  readonly reason: string;
  /** ISO 8601. */
  readonly finishedAt: string;
  readonly elapsedMs: number;
  /** Directory of the export; null where there was none. */
  readonly exportedTo: string | null;
};

/** Defaults of the program, for the record. */
export type PlanDefaults = { readonly max_output_tokens: number; readonly snapshot: JsonObject };

export type PlannerRecords = {
  /** Text by path below the directory of the compilation; `run.json` is the last. */
  readonly files: ReadonlyMap<string, string>;
  readonly run: JsonObject;
};

export const errorsFile = 'validation_errors.json';

/** Whether the text of a `run.json` reports success. */
export const reportsSuccess = (text: string): boolean =>
  successRecordSchema().safeParse(JSON.parse(text)).success;

const successRecordSchema = once(() => z.object({ success: z.literal(true) }));

/** What the report is made from. */
type Compilation = {
  readonly request: PlanRequest;
  readonly evidence: PlanEvidence;
  readonly ending: PlanEnding;
  readonly defaults: PlanDefaults;
};

/** All files of the report. */
export function plannerRecords(
  runId: string,
  request: PlanRequest,
  evidence: PlanEvidence,
  ending: PlanEnding,
  defaults: PlanDefaults,
): PlannerRecords {
  const it = { request, evidence, ending, defaults };
  const files = new Map<string, string>();
  for (const attempt of evidence.attempts) addAttempt(files, attempt);
  const refused = refusedFindings(it);
  if (refused !== undefined) files.set(`compile/${errorsFile}`, recordText(refused.map(plainFinding)));
  if (evidence.normalized !== undefined) files.set('compile/manifest_normalized.json', evidence.normalized);
  for (const [name, text] of Object.entries(evidence.output)) files.set(`output/${name}`, text);
  const shared = outputsOf(it);
  files.set('compile/compile_summary.json', recordText(summaryOf(it, shared)));
  const run = runOf(runId, it, shared);
  // The order of its keys, and characters as they are.
  files.set('run.json', `${JSON.stringify(run, null, 2)}\n`);
  return { files, run };
}

/** The findings of the last answer, if it was JSON and was not accepted. */
function refusedFindings({ evidence, ending }: Compilation): readonly EarlierFinding[] | undefined {
  const last = evidence.attempts.at(-1)?.checked;
  return ending.code === 0 || last === undefined || last.parseError ? undefined : last.findings;
}

/** What summary and run record both say. */
function outputsOf(it: Compilation): JsonObject {
  const { evidence, ending } = it;
  const last = evidence.attempts.at(-1);
  const findings = last?.checked?.findings ?? [];
  const bootstrapSkipped = evidence.skipped.length > 0;
  return {
    bootstrap_skipped: bootstrapSkipped,
    bootstrap_reason: bootstrapSkipped
      ? `left out ${evidence.skipped.join(', ')}: the repository has scripts/verify.sh already`
      : null,
    validation_errors: findings.filter(isAnError).map(findingLine),
    validation_warnings: findings.filter((finding) => !isAnError(finding)).map(findingLine),
    compile_attempts: evidence.attempts.length,
    attempt_records: evidence.attempts.map(attemptRecord),
    work_order_count:
      ending.code === 0
        ? Object.keys(evidence.output).filter((name) => name !== manifestFile).length
        : refusedFindings(it) === undefined
          ? 0
          : ordersIn(last?.response),
  };
}

const failureOf = ({ reason }: PlanEnding): string | null => (reason === '' ? null : reason);

const summaryOf = ({ request, ending, defaults }: Compilation, shared: JsonObject): JsonObject => ({
  ...shared,
  compile_hash: request.compile_hash,
  spec_path: request.spec.path,
  template_path: request.template.path,
  model: request.model,
  reasoning_effort: request.effort,
  max_output_tokens: defaults.max_output_tokens,
  success: ending.code === 0,
  exit_code: ending.code,
  failure_reason: failureOf(ending),
  outdir: request.outdir,
  artifacts_dir: request.artifacts,
  start_timestamp: seconds(request.started_at),
  end_timestamp: seconds(ending.finishedAt),
  duration_seconds: Math.round(ending.elapsedMs) / 1000,
  defaults_snapshot: {
    ...defaults.snapshot,
    compile_hash_hex_length: 16,
    max_json_payload_bytes: maxAnswerCharacters,
  },
});

function runOf(
  runId: string,
  { request, evidence, ending, defaults }: Compilation,
  shared: JsonObject,
): JsonObject {
  const manifest = evidence.output[manifestFile];
  return {
    run_id: runId,
    tool: 'planner',
    started_at_utc: utc(request.started_at),
    finished_at_utc: utc(ending.finishedAt),
    success: ending.code === 0,
    compile_hash: request.compile_hash,
    version: request.version,
    config: {
      model: request.model,
      reasoning_effort: request.effort,
      max_output_tokens: defaults.max_output_tokens,
      max_compile_attempts: request.max_attempts,
    },
    inputs: {
      spec_path: request.spec.path,
      spec_sha256: request.spec.sha256,
      template_path: request.template.path,
      template_sha256: request.template.sha256,
      repo_path: request.repo,
    },
    outputs: {
      ...shared,
      // The manifest is a file of JSON.
      manifest_normalized_sha256: manifest === undefined ? null : canonicalHash(JSON.parse(manifest) as Json),
    },
    artifacts: { compile_dir: 'compile/', output_dir: 'output/' },
    export: { outdir: request.outdir, exported: ending.exportedTo !== null },
    exit_code: ending.code,
    failure_reason: failureOf(ending),
  };
}

/** All files except `run.json`: keys sorted, ASCII. */
const recordText = (value: Json): string => `${asciiJson(sortedKeys(value), 2)}\n`;

/** The findings of the last answer as a file's text; undefined when it has no errors, or is not JSON. */
export const findingsText = (evidence: PlanEvidence): string | undefined => {
  const last = evidence.attempts.at(-1)?.checked;
  return last === undefined || last.parseError || !last.findings.some(isAnError)
    ? undefined
    : recordText(last.findings.map(plainFinding));
};

function addAttempt(files: Map<string, string>, it: AttemptEvidence): void {
  const add = (name: string, text: string | undefined) => {
    if (text !== undefined) files.set(`compile/${name}`, text);
  };
  add(`prompt_attempt_${it.attempt}.txt`, it.prompt);
  add(`llm_raw_response_attempt_${it.attempt}.txt`, it.response);
  if (it.reasoning !== undefined && it.reasoning.trim() !== '')
    add(`llm_reasoning_attempt_${it.attempt}.txt`, it.reasoning);
  for (const [name, text] of Object.entries(it.dumps)) add(name, text);
  if (it.checked === undefined) return;
  const answer = it.response === undefined ? undefined : extractJson(it.response);
  if (answer !== undefined && 'value' in answer)
    add(`manifest_raw_attempt_${it.attempt}.json`, recordText(answer.value));
  add(`validation_errors_attempt_${it.attempt}.json`, recordText(it.checked.findings.map(plainFinding)));
}

export const isAnError = (finding: EarlierFinding): boolean => !finding.code.startsWith('W');

/** `[E003] WO-02: …` */
export const findingLine = ({ code, wo_id, message }: EarlierFinding): string =>
  `[${code}] ${wo_id === null || wo_id === '' ? '' : `${wo_id}: `}${message}`;

const plainFinding = ({ code, wo_id, message, field }: EarlierFinding): JsonObject => ({
  code,
  wo_id,
  message,
  field,
});

const attemptRecord = ({ attempt, checked }: AttemptEvidence): JsonObject => ({
  attempt,
  errors: (checked?.findings ?? []).filter(isAnError).map(plainFinding),
});

/** The number of work orders in an answer. */
function ordersIn(response: string | undefined): number {
  const answer = response === undefined ? undefined : extractJson(response);
  if (answer === undefined || 'problem' in answer || !isObject(answer.value)) return 0;
  const orders = answer.value['work_orders'];
  return isList(orders) && orders.every(isObject) ? orders.length : 0;
}

/** `2026-01-02T03:04:05.678000Z` */
const utc = (iso: string): string => iso.replace(/(\.\d{3})Z$/, '$1000Z');

const seconds = (iso: string): number => new Date(iso).getTime() / 1000;
