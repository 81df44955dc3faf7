/** A run as a row of a list. */

import { basename, resolve } from 'node:path';
import * as z from 'zod';
import { nothingSpent } from '../../core/budget/usage.ts';
import { isAgentType, nodeOf } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { type Context, parkedSchema } from '../../core/outcome.ts';
import { hasSucceeded } from '../../core/overridden.ts';
import { lastFailureSchema } from '../../core/records/checkpoint.ts';
import { layout } from '../../core/records/layout.ts';
import { manifestSchema } from '../../core/records/manifest.ts';
import { strengthSchema } from '../../core/records/strength.ts';
import { weakJudgeIn } from '../../core/weak-judge.ts';
import { workWords } from '../../core/work-words.ts';
import { DiskStop } from '../../platform/files/disk-error.ts';
import { isCode, systemWords } from '../../platform/files/write.ts';
import { openRun, type RunReader } from '../../run/open-run.ts';
import { isRun, jsonOf } from '../../run/runs.ts';
import { type RunSummary, summaryWithFiles } from '../../run/summary.ts';
import { acceptedWeakness } from '../accept-weak.ts';
import { readActs } from '../acts.ts';
import { isDelivered } from '../delivered.ts';
import type { Host } from '../types.ts';
import { attentionOf } from './attention.ts';
import { headlineOf } from './headline.ts';
import { nodesWords, type OpenBranches, openBranchesIn } from './open-branches.ts';
import { latestBegan, latestToolState, progressIn } from './progress.ts';
import { openQuestionOf } from './question.ts';
import { nextOfRow } from './row-actions.ts';
import type { RunRow } from './run-row.ts';
import { type Graphs, openGraphs, recordedFacts, titleOf } from './title.ts';
import { nextTryAt, waitLine } from './wait-words.ts';
import { rowWait } from './waiting.ts';

/** Where commands that a view proposes are typed, and what time it is. */
export type InspectHost = Pick<Host, 'cwd' | 'clock' | 'called'> & {
  /** The run has ended in this process, which keeps its lock until it has printed the end. */
  readonly hasEnded?: boolean;
};

const startSchema = once(() =>
  manifestSchema().pick({
    ...{ run_id: true, name: true, pipeline_path: true, pipeline_file: true, pipeline: true },
    ...{ variables: true, agent: true },
    ...{ git: true, workdir_kind: true, original_workdir: true, replay_of: true },
  }),
);
type Start = z.infer<ReturnType<typeof startSchema>>;

const standingSchema = once(() =>
  z.object({
    at: z.string().catch(''),
    steps: z.number().catch(0),
    parked: parkedSchema().optional().catch(undefined),
    context: z.custom<Context>((value) => typeof value === 'object' && value !== null).catch({}),
    last_failure: lastFailureSchema().pick({ node: true, class: true, reason: true }).nullable().catch(null),
  }),
);

const noStanding = { at: '', steps: 0, context: {}, parked: undefined, last_failure: null };

const madeSchema = once(() =>
  z.object({
    commits: z.array(z.object({ commit: z.string().nullable() })).catch([]),
    evidence: z
      .object({
        judged: z
          .object({
            passed: z.number(),
            total: z.number(),
            strength: strengthSchema().optional().catch(undefined),
          })
          .optional()
          .catch(undefined),
        unjudged: z.string().optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
  }),
);

/** The row of the run in `dir`; undefined if there is none. `reader`: of the caller, who reads the journal too. */
export async function inspectRow(
  dir: string,
  host: InspectHost,
  reader?: RunReader,
): Promise<RunRow | undefined> {
  const path = resolve(dir);
  return (await isRun(path)) ? (await openRowReader(host)(basename(path), path, reader)).row : undefined;
}

/** A row, and when it is out of date. */
export type ReadRow = {
  readonly row: RunRow;
  /** Milliseconds since 1970 at which the row says something else although no file of the run has changed. */
  readonly until?: number;
};

/** Reads the row of the run in `dir`, which is there; a run that cannot be read is a row, too. One reader for many runs: it reads a
 *  graph only for runs of earlier versions, and most have their pipeline in common. */
export type RowReader = (name: string, dir: string, reader?: RunReader) => Promise<ReadRow>;

export function openRowReader(host: InspectHost): RowReader {
  const graphs = openGraphs();
  return (name, dir, reader = openRun(dir)) =>
    readRow(name, dir, host, { graphs, reader }).catch((error: unknown) => ({
      row: unreadableRow(name, dir, error),
    }));
}

/** A run with a file that no run has (a folder or a device in its place, one that is too large) does not hide the others. */
function unreadableRow(name: string, dir: string, error: unknown): RunRow {
  const reason = error instanceof DiskStop ? error.message : systemReason(error);
  if (reason === undefined) throw error;
  return {
    ...{ run_id: name, title: name, pipeline: '', status: 'unreadable', waiting: null },
    ...{ needs_attention: true, dismissed: false },
    ...{
      headline: reason.slice(0, 300),
      reason,
      started_at: '',
      ended_at: null,
      elapsed_ms: 0,
      spent: nothingSpent,
    },
    ...{ progress: null, at_node: null, next_node: '', failed_node: null, wake_at: null, delivered: null },
    ...{
      forked_from: null,
      replay_of: null,
      question: null,
      questions: [],
      ...{ next: '', action: null },
      acts: [],
      run_dir: dir,
    },
  };
}

/** A system error about a file in words. Without free descriptors this process can read no run at all. */
function systemReason(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || isCode(error, 'EMFILE', 'ENFILE')) return undefined;
  if (!/^(?:E[A-Z]+|ERR_FS_\w+)$/.test(String(error.code))) return undefined;
  return [...('path' in error ? [String(error.path)] : []), systemWords(error)].join(': ');
}

async function readRow(
  name: string,
  dir: string,
  host: InspectHost,
  { graphs, reader }: { readonly graphs: Graphs; readonly reader: RunReader },
): Promise<ReadRow> {
  const { summary, manifest, checkpoint } = await summaryWithFiles(name, dir, host, reader);
  const start = startSchema().safeParse(manifest).data;
  const standing = standingSchema().safeParse(checkpoint).data ?? noStanding;
  const progress =
    'order.count' in standing.context ? progressIn(await latestToolState(layout(dir).journal)) : null;
  const made = hasSucceeded(summary.status) ? madeIn(dir) : { commits: [] };
  const commits = made.commits.filter(({ commit }) => commit !== null).length;
  const judge = judgeIn(dir, summary.status, standing, made.commits);
  const opens = start !== undefined && recordedFacts(start, graphs).branches;
  const branches = openBranchesIn(reader, summary.status, opens);
  const questions = branches.questions.map((one) => openQuestionOf(dir, one, host));
  const [atNode = summary.nextNode] = branches.at;
  const question = questions.find(({ answer }) => answer === null) ?? questions[0] ?? null;
  const standingNow = { ...summary, ...standing, question, nodes: branches.at };
  const { waiting, ends } = await rowWait(standingNow, reader, host.clock.now());
  const isAtOne = summary.status === 'running' && waiting === null && branches.at.length <= 1;
  const known = { graphs, context: standing.context, open: branches.open };
  const headline = headlineOf({
    ...(waiting === null ? {} : { waiting: waitLine({ ...waiting, cause: '' }, nextTryAt(waiting)) }),
    question,
    questions: questions.length,
    summary: branches.at.length === 0 ? summary : { ...summary, nextNode: nodesWords(branches.at) },
    branches: branches.words,
    context: standing.context,
    progress,
    ...(isAtOne ? await workAt(dir, atNode, start, known) : {}),
    commits,
    ...made.evidence,
    ...judge,
    steps: standing.steps,
  });
  const attention = attentionOf({ dir, status: summary.status, question, at: standing.at });
  const failedNode = branches.failed[0]?.at ?? summary.failedNode;
  const stood = { ...summary, failedNode, question, weakJudge: judge.weak?.node };
  const row: RunRow = {
    ...recordedIn(summary),
    run_id: name,
    title: start === undefined ? basename(summary.pipeline) || name : await titleOf(dir, start, graphs),
    waiting,
    ...pipelineFileOf(summary, start),
    ...attention,
    headline: headline.replace(/[\p{C}\s]+/gu, ' ').slice(0, 300),
    ended_at: summary.status === 'running' || standing.at === '' ? null : standing.at,
    elapsed_ms: elapsedOf(summary, standing.at, host),
    progress,
    at_node: atNode === '' ? null : atNode,
    next_node: atNode,
    delivered: judge.delivered,
    question,
    questions: [...questions],
    ...(await nextOfRow(reader, stood, judge.undelivered ? start : undefined, host)),
    acts: actsOf(summary, question, {
      steps: standing.steps,
      commits,
      isWeak: judge.weak !== undefined && start?.git !== undefined,
      agents: start?.agent.name !== '',
      ...attention,
    }),
    run_dir: dir,
  };
  return { row, ...ends };
}

/** Whether it failed because its scenarios are too weak, whether a person has accepted that, and what was delivered. */
function judgeIn(
  dir: string,
  status: RunSummary['status'],
  standing: Omit<Parameters<typeof acceptedWeakness>[1], 'status'>,
  commits: z.infer<ReturnType<typeof madeSchema>>['commits'],
) {
  const weak = status === 'failed' ? weakJudgeIn(standing) : undefined;
  const accepted = weak && acceptedWeakness(dir, { ...standing, status });
  const delivered =
    accepted === undefined
      ? isDelivered(dir, { status: 'completed', commits })
      : readActs(dir).some(({ what }) => what === 'deliver');
  return { weak, accepted, delivered, undelivered: accepted === undefined && delivered === false };
}

/** What the row has as the summary has it. */
const recordedIn = ({ pipeline, status, reason, spent, ...run }: RunSummary) => ({
  ...{ pipeline, status, reason, spent, started_at: run.startedAt, wake_at: run.wakeAt },
  failed_node: run.failedNode === '' ? null : run.failedNode,
  ...{ forked_from: run.forkedFrom, replay_of: run.replayOf },
});

/** Where its path in the row is relative. */
function pipelineFileOf({ pipeline }: RunSummary, start: Start | undefined): Pick<RunRow, 'pipeline_file'> {
  const file = start?.pipeline_file;
  return file === undefined || file === pipeline ? {} : { pipeline_file: file };
}

type Known = Pick<OpenBranches, 'open'> & { readonly graphs: Graphs; readonly context: Context };

/** What the running node does, as the journal's line about its start says; of a run of an earlier version as its graph does. */
async function workAt(
  dir: string,
  id: string,
  start: Start | undefined,
  { open, graphs, context }: Known,
): Promise<{ readonly does?: string }> {
  if (start === undefined) return {};
  const { pipeline, agent } = start;
  const own = (type: string, does: string) => ({
    does: does === '' && isAgentType(type) ? (agent.model ?? agent.name) : does,
  });
  if (pipeline.label === undefined) {
    const node = nodeOf(graphs(start), id);
    return node === undefined ? {} : own(node.type, workWords(node, context));
  }
  const began = open.find(({ node }) => node === id) ?? (await latestBegan(layout(dir).journal));
  return began?.node === id ? own(began.node_type, began.does ?? '') : {};
}

/** A list only marks a damaged run. */
const madeIn = (dir: string): z.infer<ReturnType<typeof madeSchema>> =>
  madeSchema().safeParse(jsonOf(layout(dir).result)).data ?? { commits: [] };

/** Of a running one, the time until now. */
function elapsedOf({ status, elapsedMs }: RunSummary, at: string, { clock }: InspectHost): number {
  const since = status === 'running' && at !== '' ? clock.now().getTime() - Date.parse(at) : 0;
  return Math.round(elapsedMs + Math.max(0, since || 0));
}

type ActFacts = Pick<RunRow, 'needs_attention'> & {
  readonly steps: number;
  readonly commits: number;
  readonly agents: boolean;
  /** Its scenarios are too weak: a person may accept that. */
  readonly isWeak: boolean;
};

function actsOf(
  { status, nextNode }: RunSummary,
  question: RunRow['question'],
  { steps, commits, agents, isWeak, needs_attention }: ActFacts,
): RunRow['acts'] {
  const steer = agents ? (['steer'] as const) : [];
  const answer = question?.answer === null ? (['answer'] as const) : [];
  const dismiss = needs_attention ? (['dismiss'] as const) : [];
  if (status === 'running') return [...answer, ...steer, 'stop', ...dismiss];
  if (status === 'unreadable') return ['remove'];
  const resumes = status !== 'completed' && nextNode !== '';
  return [
    ...(resumes ? (answer.length > 0 ? answer : (['resume'] as const)) : []),
    ...(resumes && status !== 'failed' ? steer : []),
    ...(steps > 0 ? (['fork'] as const) : []),
    ...(commits > 0 || isWeak ? (['deliver'] as const) : []),
    ...(steps > 0 ? (['replay'] as const) : []),
    ...dismiss,
    'remove',
  ];
}
