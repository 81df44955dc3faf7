/** Builds `result.json` of a run. */
import { agentsAsked } from '../core/agent-words.ts';
import { nothingSpent } from '../core/budget/usage.ts';
import type { RunEnd } from '../core/decision.ts';
import { openQuestions } from '../core/fork.ts';
import { isLeakReason } from '../core/leak-reason.ts';
import { isPaused } from '../core/outcome.ts';
import { overriddenIn, statusAtEnd } from '../core/overridden.ts';
import { reportedValue } from '../core/policy/reported-keys.ts';
import { aheadIn } from '../core/records/ahead.ts';
import { auditReportSchema } from '../core/records/audit.ts';
import type { LastFailure, RunState } from '../core/records/checkpoint.ts';
import { divergenceSchema } from '../core/records/exchange.ts';
import { followedLayout, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { Question } from '../core/records/question.ts';
import { commitSchema, type RunResult, runResultSchema } from '../core/records/result.ts';
import { restartCount } from '../core/rounds.ts';
import { sha256 } from '../core/sha256.ts';
import { weakJudgeIn } from '../core/weak-judge.ts';
import { readSome } from '../platform/files/read.ts';
import { failedBranches } from './branch-summary.ts';
import { evidenceOf, type TreesOf, type Visits } from './evidence.ts';
import { type Called, nextCommand } from './next-command.ts';
import { namedRun } from './runs.ts';

/** `cwd` is the directory of the next command. */
export async function resultOf(
  manifest: Manifest,
  runDir: string,
  treesOf: TreesOf,
  end: RunEnd,
  visits: Visits,
  cwd: string,
  called: Called = { program: 'factory' },
): Promise<RunResult> {
  const { state, ending } = end;
  const made = commitsIn(reportedValue(state, 'build.commits'));
  const ahead = aheadIn(state.context);
  const proof = reportedProof(state);
  const status = statusOfEnd(end);
  const last = ending.ok || status === 'overridden' || end.parked !== undefined ? null : causeOf(end);
  // A branch that made its join fail can be run once more by itself.
  const failed = failedBranches(visits.branches, last?.node ?? null)[0]?.at ?? last?.node;
  return {
    schema_version: 1,
    run_id: manifest.run_id,
    status,
    exit_code: ending.code,
    exit_node: ending.exitNode,
    reason: ending.reason,
    failed_node: last?.node ?? null,
    failure_class: last?.class ?? null,
    failure_output: last === null ? '' : printed(state, last.node),
    agent: agentsAsked(manifest.agent.describe, visits.asked) || 'none',
    stages: state.steps,
    failed_stages: visits.failed,
    retries: Object.values(state.retry_counts).reduce((sum, n) => sum + n, 0),
    ...(visits.branches === undefined ? {} : { branches: visits.branches }),
    ...(restartCount(state) === 0 ? {} : { restarts: restartCount(state) }),
    ...(visits.denied.length === 0 ? {} : { denied: [...visits.denied] }),
    elapsed_ms: state.elapsed_ms,
    spent: state.spent ?? nothingSpent,
    ...(end.parked?.wake_at == null ? {} : { wake_at: end.parked.wake_at }),
    ...gatesOf(status, state, visits),
    commits: made,
    ...(ahead === undefined ? {} : { ahead }),
    proof,
    ...(await auditOf(runDir)),
    evidence: await evidenceOf(manifest, runDir, treesOf, visits, {
      failed: status === 'failed',
      snapshot: state.snapshot,
      commits: made,
      proof: proof ?? [],
      context: state.context,
      origins: state.origins,
    }),
    verify: `${called.program} verify ${namedRun(runDir, cwd)}`,
    ...(manifest.forked_from === undefined ? {} : { forked_from: manifest.forked_from }),
    ...(manifest.replay_of === undefined ? {} : { replay_of: manifest.replay_of.run_id }),
    ...(await divergenceOf(runDir)),
    run_dir: runDir,
    workspace: layout(runDir).workspace,
    next: await nextCommand(
      manifest,
      {
        status,
        exitNode: ending.exitNode,
        failed,
        failureClass: last?.class,
        agent: visits.agentBefore(failed ?? ''),
        byModel: last?.model === 'api',
        ...{ reason: ending.reason, cause: ending.cause },
        weakJudge: weakJudgeIn(state)?.node,
        commits: made,
      },
      runDir,
      cwd,
      called,
    ),
  };
}

function statusOfEnd({ parked, interrupted, ending }: RunEnd): RunResult['status'] {
  if (parked !== undefined) return parked.status;
  return interrupted ? 'interrupted' : statusAtEnd(ending);
}

/** What it has of human gates. */
const gatesOf = (
  status: RunResult['status'],
  state: RunState,
  { answers }: Visits,
): Pick<RunResult, 'question' | 'overridden' | 'answers'> => ({
  ...askedBy(status, openQuestions(state)),
  ...(status === 'overridden' ? { overridden: overriddenIn(state) } : {}),
  ...(answers === undefined ? {} : { answers }),
});

/** Of several questions all, the first one also as the question. A run may be suspended for another reason than the one of a branch that
 *  asks. */
function askedBy(
  status: RunResult['status'],
  questions: readonly Question[],
): Pick<RunResult, 'question' | 'questions'> {
  const [question, ...more] = isPaused(status) ? questions : [];
  if (question === undefined) return {};
  return { question, ...(more.length === 0 ? {} : { questions: [question, ...more] }) };
}

// Most runs have neither, and need no schema for them.
const commitsIn = (value: unknown): RunResult['commits'] =>
  value === undefined ? [] : (commitSchema().array().safeParse(value).data ?? []);
/** Commands that passed in a checkout of the last commit; null without that proof. */
export function reportedProof(state: Parameters<typeof reportedValue>[0]): RunResult['proof'] {
  const value = reportedValue(state, 'build.proof');
  return value === undefined ? null : (runResultSchema().shape.proof.safeParse(value).data ?? null);
}

/** The final failure. A node that leaked a holdout has no outcome, so the state has the failure before it. */
const causeOf = ({ state, ending }: RunEnd): Pick<LastFailure, 'node' | 'class' | 'model'> | null =>
  ending.exitNode === null && isLeakReason(ending.reason) && state.next_node !== null
    ? { node: state.next_node, class: 'guardrail', model: null }
    : state.last_failure;

/** The findings of the audit at the end of the run, if there was one. */
async function auditOf(runDir: string): Promise<Pick<RunResult, 'audit'>> {
  const text = await readSome(layout(runDir).audit, 256 * 1024 * 1024);
  if (text === undefined) return {};
  const read = auditReportSchema().safeParse(parsed(text));
  if (!read.success) return {};
  const { findings, errors, warnings } = read.data;
  return { audit: { findings: findings.length, errors, warnings, sha256: sha256(text) } };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Where a replay diverged from its record, if it did. */
export async function divergenceOf(runDir: string): Promise<Pick<RunResult, 'divergence'>> {
  const text = await readSome(followedLayout(layout(runDir).followed).divergence, 1024 * 1024);
  if (text === undefined) return {};
  const read = divergenceSchema().safeParse(parsed(text));
  return read.success ? { divergence: read.data } : {};
}

/** What the failed node's output says of the failure, from the feedback for later nodes; empty for any other node. */
export function printed({ context }: Pick<RunState, 'context'>, node: string): string {
  if (context['last_failure.node_id'] !== node) return '';
  const lines = String(context['last_failure.summary'] ?? '').split('\n');
  const from = lines.findIndex((line) => /^(?:stderr|stdout|\w+_stderr|verification):$/.test(line));
  return from === -1 ? '' : lines.slice(from).join('\n');
}
