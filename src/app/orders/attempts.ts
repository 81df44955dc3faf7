/** `attempt_N/` of a work order's run, made from the run directory alone. */
import { join } from 'node:path';
import * as z from 'zod';
import { briefOf, commandResultsSchema } from '../../builder/failure.ts';
import { parseProposal } from '../../builder/proposal.ts';
import { touchedBy } from '../../builder/scope.ts';
import { asciiJson, type Json, type JsonObject, sortedKeys } from '../../core/json.ts';
import { once } from '../../core/once.ts';
import { reminderOf, stageFailure } from '../../core/orders/failure-stage.ts';
import { splitWords } from '../../core/policy/words.ts';
import { type FailureBrief, failureBriefSchema } from '../../core/records/build.ts';
import { type Layout, nodeLayout } from '../../core/records/layout.ts';
import { readSome } from '../../platform/files/read.ts';
import { removeNow, writeFileAtomic } from '../../platform/files/write.ts';
import { readStage } from '../../run/node-directory.ts';
import { openRun } from '../../run/open-run.ts';

/** Writes JSON with sorted keys, two-space indent, ASCII escapes and a final newline: all files except `run.json`. */
export const writeSorted = (path: string, value: Json): Promise<void> =>
  writeFileAtomic(path, `${asciiJson(sortedKeys(value), 2)}\n`);

export type AttemptRecord = JsonObject & { readonly failure_brief: JsonObject | null };

/** Writes `attempt_N/` of every attempt that has ended and answers with their records. */
export async function writeAttempts(
  run: Layout,
  folder: string,
  baseline: string,
): Promise<readonly AttemptRecord[]> {
  const records: AttemptRecord[] = [];
  for (const attempt of await attemptsOf(run)) {
    const dir = join(folder, `attempt_${attempt.index}`);
    removeNow(dir);
    const record = await writeAttempt(attempt, dir, baseline);
    if (record !== undefined) records.push(record);
  }
  return records;
}

/** Undefined for an attempt that was interrupted before it had an outcome: its files are written, but it does not count. */
async function writeAttempt(
  attempt: RecordedAttempt,
  dir: string,
  baseline: string,
): Promise<AttemptRecord | undefined> {
  const at = (node: string): RecordedVisit | undefined => attempt.visits.get(node);
  const prompt = await textOf(at('propose'), 'prompt.md');
  if (prompt !== undefined) await writeFileAtomic(join(dir, 'se_prompt.txt'), prompt);
  const answer = await textOf(at('propose'), 'response.md');
  const parsed = answer === undefined || at('apply') === undefined ? undefined : parseProposal(answer);
  const proposed = parsed !== undefined && 'proposal' in parsed ? parsed.proposal : undefined;
  if (proposed !== undefined) await writeSorted(join(dir, 'proposed_writes.json'), proposed);
  else if (answer !== undefined)
    await writeSorted(join(dir, 'raw_llm_response.json'), { raw_response: answer });

  const apply = at('apply');
  const touched = proposed === undefined ? [] : touchedBy(proposed);
  // The files were written, and one of them does not parse.
  const unparsed = apply?.ended === 'failed' && apply.updates['order.stage'] === 'verify_failed';
  const written = apply?.ended === 'done' || unparsed;
  if (proposed !== undefined && apply !== undefined && apply.ended !== 'open') {
    const errors = written ? [] : [apply.reason];
    await writeSorted(join(dir, 'write_result.json'), { write_ok: written, touched_files: touched, errors });
  }
  const verify = unparsed
    ? [await parsingOf(apply.reason, dir)]
    : await commandsOf(at('verify'), dir, 'verify');
  const judged = at('promises')?.ended === 'failed' || at('accept') !== undefined;
  const accept = (await commandsOf(at('accept'), dir, 'acceptance')) ?? (judged ? [] : undefined);
  if (verify !== undefined) await writeSorted(join(dir, 'verify_result.json'), verify);
  if (accept !== undefined) await writeSorted(join(dir, 'acceptance_result.json'), accept);

  const brief = briefOfAttempt(attempt);
  if (brief === 'open') return undefined;
  const failure_brief =
    brief === null
      ? null
      : {
          stage: brief.stage,
          command: brief.command,
          exit_code: brief.exit_code,
          primary_error_excerpt: brief.excerpt,
          constraints_reminder: brief.reminder,
        };
  if (failure_brief !== null) await writeSorted(join(dir, 'failure_brief.json'), failure_brief);
  const drift = z.array(z.string()).safeParse(at('commit')?.updates['order.drift']);
  return {
    attempt_index: attempt.index,
    baseline_commit: baseline,
    proposal_path: proposed === undefined ? '' : join(dir, 'proposed_writes.json'),
    touched_files: touched,
    write_ok: written,
    verify: verify ?? [],
    acceptance: accept ?? [],
    failure_brief,
    ...(drift.success && drift.data.length > 0 ? { repo_drift: drift.data } : {}),
  };
}

/** Null for an attempt that succeeded, `open` for one without an outcome. */
function briefOfAttempt({ visits }: RecordedAttempt): FailureBrief | null | 'open' {
  const rollback = visits.get('rollback');
  if (rollback !== undefined) {
    const brief = failureBriefSchema().safeParse(rollback.updates['order.brief']);
    return brief.success ? brief.data : 'open';
  }
  for (const [node, stage] of failing) {
    const visit = visits.get(node);
    if (visit?.ended !== 'failed') continue;
    const failed = stageFailure(stage, visit.reason.replace(new RegExp(`^${stage}: `), ''));
    const brief = briefOf(failed.stage, failed.reason);
    // The model was never asked: the plan is wrong.
    const prefix = visit.reason.startsWith('preflight: ') ? 'PLANNER-CONTRACT BUG: ' : '';
    return { ...brief, excerpt: `${prefix}${brief.excerpt}`, reminder: reminderOf(stage) };
  }
  return visits.get('commit')?.ended === 'done' && visits.get('proof')?.ended === 'done' ? null : 'open';
}

/** Nodes whose failure is not followed by a rollback. */
const failing = [
  ['prompt', 'preflight'],
  ['propose', 'exception'],
  ['commit', 'exception'],
  ['proof', 'verify_failed'],
] as const;

/** The results of a verification node; the output of each command is written to separate files. */
async function commandsOf(
  visit: RecordedVisit | undefined,
  dir: string,
  name: string,
): Promise<JsonObject[] | undefined> {
  if (visit === undefined || visit.ended === 'open') return undefined;
  const results = commandResultsSchema().safeParse(await jsonOf(visit, 'verification.results.json'));
  const seconds = z.array(z.number()).safeParse(await jsonOf(visit, 'verification.seconds.json'));
  const list: JsonObject[] = [];
  for (const [n, one] of (results.success ? results.data.commands : []).entries()) {
    const split = splitWords(one.command);
    const last = results.success && n === results.data.commands.length - 1;
    const note = last && one.exit_code === -1 ? stopNote(visit.reason) : '';
    const paths = { out: join(dir, `${name}_${n}_stdout.txt`), err: join(dir, `${name}_${n}_stderr.txt`) };
    await writeFileAtomic(paths.out, (await textOf(visit, `verification.${n}.stdout.txt`)) ?? '');
    await writeFileAtomic(paths.err, `${(await textOf(visit, `verification.${n}.stderr.txt`)) ?? ''}${note}`);
    list.push({
      command: 'words' in split ? split.words : [one.command],
      exit_code: one.exit_code,
      stdout_trunc: trunc(one.stdout),
      stderr_trunc: trunc(`${one.stderr}${note}`),
      stdout_path: paths.out,
      stderr_path: paths.err,
      duration_seconds: seconds.success ? (seconds.data[n] ?? null) : null,
    });
  }
  return list;
}

/** The parsing of an order's files as a command that failed; the program parses them itself. */
async function parsingOf(reason: string, dir: string): Promise<JsonObject> {
  const cause = reason.replace(/^verify_failed: /, '');
  const paths = { out: join(dir, 'verify_0_stdout.txt'), err: join(dir, 'verify_0_stderr.txt') };
  await writeFileAtomic(paths.out, '');
  await writeFileAtomic(paths.err, `${cause}\n`);
  return {
    command: ['factory', 'order', 'apply'],
    exit_code: 1,
    stdout_trunc: '',
    stderr_trunc: trunc(`${cause}\n`),
    stdout_path: paths.out,
    stderr_path: paths.err,
    duration_seconds: null,
  };
}

const stopNote = (reason: string): string =>
  reason.startsWith('timeout:') ? '\n[TIMEOUT]' : `\n[${reason}]`;

/** Head and tail: 2,000 characters and a mark of 15. */
function trunc(text: string): string {
  const characters = [...text];
  if (characters.length <= 2000) return text;
  return `${characters.slice(0, 600).join('')}\n...[truncated]\n${characters.slice(-1399).join('')}`;
}

/* The attempts of a run, read from its directory: which execution of each node belongs to which attempt. */

/** One execution of a node. */
type RecordedVisit = {
  readonly dir: string;
  /** `open`: it did not end. */
  readonly ended: 'done' | 'failed' | 'open';
  readonly reason: string;
  /** What it set in the run's context. */
  readonly updates: Readonly<Record<string, unknown>>;
};
/** By node: `prompt`, `propose`, `apply`, `verify`, `promises`, `accept`, `commit`, `rollback`, `proof`. */
type RecordedAttempt = { readonly index: number; readonly visits: ReadonlyMap<string, RecordedVisit> };

/** An attempt begins with each execution of `prompt`; an execution that a resume repeats replaces the interrupted one. The
 *  outcome is read from `status.json`: the journal of a killed run may lack its last line. */
async function attemptsOf(run: Layout): Promise<RecordedAttempt[]> {
  const started = new Map<number, Map<string, number>>();
  let current = 0;
  for await (const entry of openRun(run.root).view('events')) {
    if (entry.kind !== 'record') continue;
    const { type, node_id: node, visit } = entry.record;
    if (type !== 'StageStarted' || typeof node !== 'string' || typeof visit !== 'number') continue;
    if (node === 'prompt') {
      current = visit;
      started.set(current, new Map());
    }
    started.get(current)?.set(node, visit);
  }
  const attempts: RecordedAttempt[] = [];
  for (const [index, nodes] of [...started].sort(([a], [b]) => a - b)) {
    const visits = new Map<string, RecordedVisit>();
    for (const [node, visit] of nodes) visits.set(node, await visitOf(await dirOf(run, node, visit)));
    attempts.push({ index, visits });
  }
  return attempts;
}

const statusSchema = once(() =>
  z.object({
    outcome: z.string(),
    failure_reason: z.string(),
    failure_class: z.string().optional(),
    context_updates: z.record(z.string(), z.json()),
  }),
);

async function visitOf(dir: string): Promise<RecordedVisit> {
  const open: RecordedVisit = { dir, ended: 'open', reason: '', updates: {} };
  const status = statusSchema().safeParse(await jsonOf(open, 'status.json'));
  if (!status.success || status.data.failure_class === 'cancelled') return open;
  const { outcome, failure_reason: reason, context_updates: updates } = status.data;
  return { dir, ended: outcome === 'fail' ? 'failed' : 'done', reason, updates };
}

/** The latest execution is in the node's directory, earlier ones below it. */
async function dirOf(run: Layout, node: string, visit: number): Promise<string> {
  const dir = run.node(node);
  const stage = await readStage(dir);
  return stage === undefined || stage.visit === visit ? dir : join(nodeLayout(dir).visits, String(visit));
}

/** A text artifact of an execution, up to 16 MiB; undefined when there is none. */
const textOf = (visit: RecordedVisit | undefined, name: string): Promise<string | undefined> =>
  visit === undefined ? Promise.resolve(undefined) : readSome(join(visit.dir, name), 16 * 1024 * 1024);

async function jsonOf(visit: RecordedVisit | undefined, name: string): Promise<unknown> {
  const text = await textOf(visit, name);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // An interrupted run may leave incomplete files.
    return undefined;
  }
}
