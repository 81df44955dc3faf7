/** `factory show`: one run at a glance: its status, agent, sandbox and cost, and each node. */

import { basename } from 'node:path';
import { pricesOf } from '../app/budget.ts';
import { nextOf } from '../app/inspect/next.ts';
import { elapsedWords } from '../core/amounts.ts';
import type { Prices } from '../core/budget/prices.ts';
import type { Spent } from '../core/budget/usage.ts';
import type { Clock } from '../core/contracts/clock.ts';
import { type Refusal, refused } from '../core/diagnostic.ts';
import { reasonOf } from '../core/outcome.ts';
import { layout } from '../core/records/layout.ts';
import { type Manifest, toldOf } from '../core/records/manifest.ts';
import type { VisitRecord } from '../core/records/visit.ts';
import { openCostLedger } from '../engine/cost-ledger.ts';
import { readJournal } from '../store/journal-read.ts';
import { printed } from '../store/result.ts';
import { readRun } from '../store/run-journal.ts';
import { namedRun, type RunSummary, readManifest, summaryOf } from '../store/runs.ts';
import { findNamed } from './find-run.ts';
import type { VerbResult } from './index.ts';
import { type Io, paints } from './io.ts';
import { columns, countedItems, foreign, oneLine, painter, spentWords } from './report/run.ts';

export type ShowOptions = { readonly runsdir?: string; readonly json?: boolean; readonly color?: boolean };

/** A node with what its latest execution says; `sandbox` is null for a node that starts no program. */
type Row = {
  readonly node: string;
  readonly type: string;
  readonly visits: number;
  readonly outcome: string;
  readonly failure_class: string | null;
  readonly failure_reason: string;
  readonly retries: number;
  readonly sandbox: string | null;
  readonly spent: Spent;
};

type Inspected = {
  readonly dir: string;
  readonly manifest: Manifest;
  readonly summary: RunSummary;
  readonly rows: readonly Row[];
  readonly prices: Prices;
  /** The node of the latest failure and what it printed; empty where nothing has failed. */
  readonly failedNode: string;
  readonly output: string;
};

export async function showCommand(
  run: string,
  options: ShowOptions,
  io: Io & { readonly clock: Clock },
): Promise<VerbResult> {
  const found = await findNamed(run, options, io);
  if ('problems' in found) return found;
  const shown = await inspect(found.dir, io.clock);
  if ('problems' in shown) return shown;
  const next = nextOf(shown.summary, io.called?.program ?? 'factory', namedRun(found.dir, io.cwd));
  if (options.json === true) io.out(`${JSON.stringify(record(shown, next), null, 2)}\n`);
  else print(shown, next, options, io);
  return 0;
}

async function inspect(dir: string, clock: Clock): Promise<Inspected | Refusal> {
  const read = await readManifest(dir);
  if (!read.ok) return refused('manifest', read.why);
  const soFar = await readRun(dir);
  if (!soFar.ok) return refused('run-files', soFar.why);
  const { manifest } = read;
  const prices = pricesOf(manifest);
  const books = openCostLedger(soFar.calls, prices, () => {});
  const visits = soFar.records.filter((record) => record.type === 'Visit');
  const failedNode = String(soFar.checkpoint.context['last_failure.node_id'] ?? '');
  return {
    dir,
    manifest,
    summary: await summaryOf(manifest.run_id, dir, clock),
    rows: rowsOf(visits, await sandboxes(dir), (node) => books.of(node)),
    prices,
    failedNode,
    output: printed(soFar.checkpoint, failedNode),
  };
}

/** By node, what the trace says of its latest execution. */
async function sandboxes(dir: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  // One record after the other: a trace may be larger than the memory.
  for await (const entry of readJournal(layout(dir).trace)) {
    if (entry.kind !== 'record') continue;
    const { type, sandbox, node_id } = entry.record;
    if (type === 'NodeInputCaptured' && typeof sandbox === 'string') found.set(String(node_id), sandbox);
  }
  return found;
}

/** Each node once, in the order in which the run came to them first. */
function rowsOf(
  visits: readonly VisitRecord[],
  sandbox: ReadonlyMap<string, string>,
  spentBy: (node: string) => Spent,
): readonly Row[] {
  const latest = new Map<string, VisitRecord>();
  for (const visit of visits) latest.set(visit.node, visit);
  return [...latest.values()].map(({ node, node_type, visit, outcome, retries }) => ({
    node,
    type: node_type,
    visits: visit,
    outcome: outcome.status,
    failure_class: outcome.status === 'fail' ? outcome.class : null,
    failure_reason: reasonOf(outcome),
    retries,
    sandbox: sandbox.get(node) ?? null,
    spent: spentBy(node),
  }));
}

const record = ({ dir, manifest, summary, rows, prices, failedNode, output }: Inspected, next: string) => ({
  schema_version: 1,
  run_id: manifest.run_id,
  status: summary.status,
  reason: summary.reason,
  next_node: summary.nextNode,
  pipeline: manifest.pipeline_path,
  started_at: manifest.started_at,
  elapsed_ms: summary.elapsedMs,
  agent: manifest.agent.describe || 'none',
  sandbox: manifest.sandbox ?? null,
  holdout: manifest.holdout === undefined ? null : toldOf(manifest.holdout),
  spent: summary.spent ?? null,
  prices: { dated: prices.dated, from: prices.from },
  wake_at: summary.wakeAt,
  nodes: rows,
  failure: failedNode === '' ? null : { node: failedNode, output },
  run_dir: dir,
  next,
});

function print(shown: Inspected, next: string, options: ShowOptions, io: Io): void {
  const { dir, manifest, summary, rows, failedNode, output } = shown;
  const { status, reason, nextNode, wakeAt } = summary;
  const resumes = next.startsWith(`${io.called?.program ?? 'factory'} resume `);
  const lines = [
    ['run', manifest.run_id],
    ['status', reason === '' ? status : `${status}: ${reason}`],
    ...(wakeAt === null ? [] : [['wakes', wakeAt]]),
    ...(status === 'running' && nextNode !== '' ? [['at', nextNode]] : []),
    ...(next === '' ? [] : [['next', next]]),
    ...(resumes && nextNode !== '' ? [['', `continues with node ${nextNode}`]] : []),
    ['pipeline', basename(manifest.pipeline_path)],
    ['agent', manifest.agent.describe || 'none'],
    ...sandboxLines(manifest),
    ...holdoutLines(manifest),
    ['time', elapsedWords(summary.elapsedMs)],
    ...spentLines(shown),
    ['files', dir],
  ];
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  for (const [name = '', text = ''] of lines)
    io.out(`${paint.dim(name.padEnd(9))} ${foreign(text, ' '.repeat(10))}\n`);
  io.out(`\n${table(rows, io.outIsTerminal ? io.width : 160).join('\n')}\n`);
  if (output !== '')
    io.out(`\noutput of node ${failedNode}, the latest failure:\n  ${foreign(output, '  ')}\n`);
}

function sandboxLines({ sandbox, not_enforced }: Manifest): string[][] {
  const missing = (sandbox?.missing ?? not_enforced).map((one) => ['', `not enforced: ${one}`]);
  if (sandbox === undefined) return [['sandbox', 'none'], ...missing];
  const enforced = sandbox.enforces.map((one) => ['', `enforced: ${one}`]);
  return [['sandbox', `${sandbox.used} (${sandbox.why})`], ...enforced, ...missing];
}

function spentLines({ summary: { spent }, prices: { dated, from } }: Inspected): string[][] {
  if (spent === undefined || spent.calls === 0) return [];
  return [
    ['spent', spentWords(spent)],
    ['', `by prices of ${dated} (${from}) where an agent tells no cost`],
  ];
}

function holdoutLines({ holdout }: Manifest): string[][] {
  if (holdout === undefined) return [];
  const { paths, files, from, sha256 } = holdout;
  const source = from === 'workdir' ? 'the workdir' : from;
  return [
    ['sealed', `${paths.join(', ')}: ${countedItems(files, 'file')} from ${source}`],
    ['', `sha256 ${sha256}`],
  ];
}

function table(rows: readonly Row[], width: number): readonly string[] {
  const paid = rows.some((row) => row.spent.calls > 0);
  const all = [
    ['node', 'type', 'visits', 'retries', 'sandbox', ...(paid ? ['spent'] : []), 'outcome'],
    ...rows.map((row) => [
      row.node,
      row.type,
      String(row.visits),
      String(row.retries),
      row.sandbox ?? '',
      ...(paid ? [row.spent.calls === 0 ? '' : spentWords(row.spent)] : []),
      [row.outcome, row.failure_class ?? '', row.failure_reason].filter((word) => word !== '').join(' · '),
    ]),
  ];
  return columns(all).map(({ cells, taken, last }) =>
    [...cells, oneLine(last, Math.max(20, width - taken))].join('  ').trimEnd(),
  );
}
