/** Runs as rows of a list. */

import { statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import * as z from 'zod';
import { nothingSpent } from '../../core/budget/usage.ts';
import { nodeOf } from '../../core/graph.ts';
import { once } from '../../core/once.ts';
import { type Context, isPaused } from '../../core/outcome.ts';
import { hasSucceeded } from '../../core/overridden.ts';
import { layout } from '../../core/records/layout.ts';
import { manifestSchema } from '../../core/records/manifest.ts';
import { DiskStop } from '../../platform/files/disk-error.ts';
import { isCode, systemWords } from '../../platform/files/write.ts';
import { needsAttention, nextCommand, nextOf } from '../../run/next-command.ts';
import { jsonOf, namedRun, runIds } from '../../run/runs.ts';
import { type RunSummary, summaryWithFiles } from '../../run/summary.ts';
import type { RunList } from '../answers.ts';
import { isDelivered } from '../delivered.ts';
import type { Host } from '../types.ts';
import { headlineOf } from './headline.ts';
import { nodesWords, openBranchesIn } from './open-branches.ts';
import { latestToolState, progressIn } from './progress.ts';
import { openQuestionOf } from './question.ts';
import type { RunRow } from './shapes.ts';
import { openGraphs, titleOf } from './title.ts';
import { waitingFor } from './waiting.ts';

/** Where commands that a view proposes are typed, and what time it is. */
export type InspectHost = Pick<Host, 'cwd' | 'clock' | 'called'>;

const startSchema = once(() =>
  manifestSchema().pick({
    ...{ run_id: true, pipeline_path: true, pipeline: true, variables: true, agent: true },
    ...{ git: true, workdir_kind: true, original_workdir: true, replay_of: true },
  }),
);
type Start = z.infer<ReturnType<typeof startSchema>>;

const standingSchema = once(() =>
  z.object({
    at: z.string().catch(''),
    steps: z.number().catch(0),
    context: z.custom<Context>((value) => typeof value === 'object' && value !== null).catch({}),
  }),
);

const madeSchema = once(() =>
  z.object({
    commits: z.array(z.object({ commit: z.string().nullable() })).catch([]),
    evidence: z
      .object({
        judged: z.object({ passed: z.number(), total: z.number() }).optional().catch(undefined),
        unjudged: z.string().optional().catch(undefined),
      })
      .optional()
      .catch(undefined),
  }),
);

/** The runs of a directory, newest first. */
export const inspectRows = async (runsDir: string, host: InspectHost): Promise<readonly RunRow[]> =>
  openRunList(runsDir, host).rows();

/** The row of the run in `dir`; undefined if there is none. */
export const inspectRow = async (dir: string, host: InspectHost): Promise<RunRow | undefined> =>
  openRunList(resolve(dir, '..'), host).row(basename(resolve(dir)));

/** A list of runs for a process that asks often: a run is read again only when one of its files has changed, or while it
 *  runs. */
export interface OpenRunList {
  /** All runs, newest first. */
  rows(): Promise<readonly RunRow[]>;
  /** One of them, by the name of its folder; undefined if there is no such run. */
  row(name: string): Promise<RunRow | undefined>;
}

type Known = { readonly is: string; readonly row: RunRow };

export function openRunList(runsDir: string, host: InspectHost): OpenRunList {
  const known = new Map<string, Known>();
  const graphs = openGraphs();
  const row = async (name: string): Promise<RunRow | undefined> => {
    const dir = join(runsDir, name);
    const before = known.get(name);
    const is = identityOf(dir);
    if (is === undefined) return undefined;
    if (before !== undefined && before.is === is && before.row.status !== 'running') return before.row;
    const read = await readRow(name, dir, host, graphs).catch((error: unknown) =>
      unreadableRow(name, dir, error),
    );
    known.set(name, { is: identityOf(dir) ?? '', row: read });
    return read;
  };
  return {
    row,
    async rows() {
      const names = await runIds(runsDir);
      const there = new Set(names);
      for (const name of known.keys()) if (!there.has(name)) known.delete(name);
      const rows: RunRow[] = [];
      // One after the other: a directory of thousands of runs must not open thousands of files at once.
      for (const name of names) {
        const one = await row(name);
        if (one !== undefined) rows.push(one);
      }
      return rows.sort((a, b) => order(b.started_at, a.started_at) || order(b.run_id, a.run_id));
    },
  };
}

/** What `factory runs` answers with: the rows `shown`, by default all, suspended ones first, and how many there are. */
export function runList(runsDir: string, rows: readonly RunRow[], shown = rows): RunList {
  const by_status: Record<string, number> = {};
  for (const { status } of rows) by_status[status] = (by_status[status] ?? 0) + 1;
  const needs_attention = rows.filter((run) => run.needs_attention).length;
  const counts = { all: rows.length, needs_attention, by_status };
  return { schema_version: 1, runs_dir: runsDir, counts, runs: suspendedFirst(shown) };
}

const suspendedFirst = (rows: readonly RunRow[]): RunRow[] =>
  rows.toSorted((a, b) => Number(isPaused(b.status)) - Number(isPaused(a.status)));

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Changes with every change of what a row says; undefined where there is no run. */
function identityOf(dir: string): string | undefined {
  const { manifest, checkpoint, journal, result, locks, acts, answers } = layout(dir);
  const facts = [manifest, checkpoint, journal, result, locks, acts, answers].map((path) => {
    const is = statSync(path, { throwIfNoEntry: false });
    return is === undefined ? '' : `${is.ino} ${is.size} ${is.mtimeMs}`;
  });
  return facts[0] === '' && facts[1] === '' ? undefined : facts.join('|');
}

/** A run with a file that no run has (a folder or a device in its place, one that is too large) does not hide the others. */
function unreadableRow(name: string, dir: string, error: unknown): RunRow {
  const reason = error instanceof DiskStop ? error.message : systemReason(error);
  if (reason === undefined) throw error;
  return {
    ...{ run_id: name, title: name, pipeline: '', status: 'unreadable', needs_attention: true },
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
      next: '',
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

type Graphs = ReturnType<typeof openGraphs>;

async function readRow(name: string, dir: string, host: InspectHost, graphs: Graphs): Promise<RunRow> {
  const { summary, manifest, checkpoint } = await summaryWithFiles(name, dir, host.clock);
  const start = startSchema().safeParse(manifest).data;
  const standing = standingSchema().safeParse(checkpoint).data ?? { at: '', steps: 0, context: {} };
  const graph = start === undefined ? undefined : graphs(start);
  const progress =
    'order.count' in standing.context ? progressIn(await latestToolState(layout(dir).journal)) : null;
  const made = hasSucceeded(summary.status) ? madeIn(dir) : { commits: [] };
  const commits = made.commits.filter(({ commit }) => commit !== null).length;
  const delivered = isDelivered(dir, { status: 'completed', commits: made.commits });
  const waiting =
    summary.status === 'running' ? await waitingFor(layout(dir).events, host.clock.now()) : undefined;
  const branches = openBranchesIn(dir, summary.status, graph);
  const questions = branches.questions.map((one) => openQuestionOf(dir, one, host));
  const [atNode = summary.nextNode] = branches.at;
  const question = questions.find(({ answer }) => answer === null) ?? questions[0] ?? null;
  const headline = headlineOf({
    ...(waiting === undefined ? {} : { waiting }),
    question,
    questions: questions.length,
    summary: branches.at.length === 0 ? summary : { ...summary, nextNode: nodesWords(branches.at) },
    branches: branches.words,
    context: standing.context,
    progress,
    node: branches.at.length > 1 ? undefined : nodeOf(graph, atNode),
    model: start?.agent.model ?? start?.agent.name ?? '',
    commits,
    judged: made.evidence?.judged,
    unjudged: made.evidence?.unjudged,
    steps: standing.steps,
  });
  const row: RunRow = {
    run_id: name,
    title: start === undefined ? basename(summary.pipeline) || name : await titleOf(dir, start, graph),
    pipeline: summary.pipeline,
    status: summary.status,
    // A branch may ask while others run.
    needs_attention: needsAttention(summary.status) || question?.answer === null,
    headline: headline.replace(/[\p{C}\s]+/gu, ' ').slice(0, 300),
    reason: summary.reason,
    started_at: summary.startedAt,
    ended_at: summary.status === 'running' || standing.at === '' ? null : standing.at,
    elapsed_ms: elapsedOf(summary, standing.at, host),
    spent: summary.spent,
    progress,
    at_node: atNode === '' ? null : atNode,
    next_node: atNode,
    failed_node: summary.failedNode === '' ? null : summary.failedNode,
    wake_at: summary.wakeAt,
    delivered,
    forked_from: summary.forkedFrom,
    replay_of: summary.replayOf,
    question,
    questions: [...questions],
    next: await nextIn(
      dir,
      { ...summary, failedNode: branches.failed[0]?.at ?? summary.failedNode, question },
      delivered === false ? start : undefined,
      host,
    ),
    acts: actsOf(summary, question, { steps: standing.steps, commits, agents: start?.agent.name !== '' }),
    run_dir: dir,
  };
  return row;
}

/** A list only marks a damaged run. */
const madeIn = (dir: string): z.infer<ReturnType<typeof madeSchema>> =>
  madeSchema().safeParse(jsonOf(layout(dir).result)).data ?? { commits: [] };

/** Of a running one, the time until now. */
function elapsedOf({ status, elapsedMs }: RunSummary, at: string, { clock }: InspectHost): number {
  const since = status === 'running' && at !== '' ? clock.now().getTime() - Date.parse(at) : 0;
  return Math.round(elapsedMs + Math.max(0, since || 0));
}

async function nextIn(
  dir: string,
  summary: RunSummary & Pick<RunRow, 'question'>,
  undelivered: Start | undefined,
  { cwd, called = { program: 'factory' } }: InspectHost,
): Promise<string> {
  if (undelivered === undefined) {
    const stood = {
      ...summary,
      resumable: summary.nextNode !== '',
      answered: summary.question?.answer != null,
    };
    return nextOf(stood, called.program, namedRun(dir, cwd));
  }
  const status = summary.status === 'overridden' ? 'overridden' : 'completed';
  const end = { status, exitNode: null, failed: undefined, byModel: false } as const;
  return nextCommand(undelivered, end, dir, cwd, called);
}

function actsOf(
  { status, nextNode }: RunSummary,
  question: RunRow['question'],
  { steps, commits, agents }: { readonly steps: number; readonly commits: number; readonly agents: boolean },
): RunRow['acts'] {
  const steer = agents ? (['steer'] as const) : [];
  const answer = question?.answer === null ? (['answer'] as const) : [];
  if (status === 'running') return [...answer, ...steer, 'stop'];
  if (status === 'unreadable') return [];
  const resumes = status !== 'completed' && nextNode !== '';
  return [
    ...(resumes ? (answer.length > 0 ? answer : (['resume'] as const)) : []),
    ...(resumes && status !== 'failed' ? steer : []),
    ...(steps > 0 ? (['fork'] as const) : []),
    ...(commits > 0 ? (['deliver'] as const) : []),
  ];
}
