/** `factory show`: one run at a glance: how it stands, who answered, what confined it, and each node. */
import { basename, resolve } from 'node:path';
import { callRecords, openBooks } from '../engine/books.ts';
import { pricesOf } from '../engine/price-file.ts';
import { printed } from '../engine/result.ts';
import { layout } from '../model/layout.ts';
import type { Manifest } from '../model/manifest.ts';
import { reasonOf } from '../model/outcome.ts';
import type { Prices } from '../model/prices.ts';
import { toldOf } from '../model/sealed.ts';
import type { Spent } from '../model/spent.ts';
import type { VisitRecord } from '../model/visit-record.ts';
import { readJournal, readRecords } from '../store/journal.ts';
import { readSoFar } from '../store/moment.ts';
import { findRun, namedRun, readManifest, summaryOf } from '../store/run-store.ts';
import type { Clock } from '../system/clock.ts';
import type { Io } from './io.ts';
import { paints } from './io.ts';
import { elapsedWords, foreign, oneLine, painter, spentWords } from './print.ts';
import { refuse, wrong } from './refuse.ts';
import { nextOf } from './runs.ts';

export type ShowOptions = {
  readonly runsdir?: string;
  readonly json?: boolean;
  readonly color?: boolean;
};

type Row = {
  readonly node: string;
  readonly type: string;
  readonly visits: number;
  readonly outcome: string;
  readonly failure_class: string | null;
  readonly failure_reason: string;
  readonly retries: number;
  /** What its latest visit was confined by; null for a node that starts no program. */
  readonly sandbox: string | null;
};

/** Tells how a run stands. Answers with the exit code. */
export async function showCommand(
  run: string,
  options: ShowOptions,
  io: Io & { readonly clock: Clock },
): Promise<number> {
  const found = await findRun(resolve(io.cwd, options.runsdir ?? '.factory/runs'), run);
  if (!found.ok) return refusedAs('no-run', found.why, options, io);
  const dir = resolve(io.cwd, found.dir);
  const read = await readManifest(dir);
  if (!read.ok) return refusedAs('manifest', read.why, options, io);
  const soFar = await readSoFar(dir);
  if (!soFar.ok) return refusedAs('run-files', soFar.why, options, io);
  const { manifest } = read;
  const visits = soFar.records.filter((record) => record.type === 'Visit');
  const rows = rowsOf(visits, await rungs(dir));
  const summary = await summaryOf(manifest.run_id, dir, io.clock);
  const { status, reason, nextNode, elapsedMs, spent, wakeAt } = summary;
  const program = io.called?.program ?? 'factory';
  const next = nextOf(summary, program, namedRun(dir, io.cwd));
  const resumes = next.startsWith(`${program} resume `);
  const prices = pricesOf(manifest);
  const calls = await readRecords(layout(dir).calls);
  const books = openBooks(callRecords(calls.records), prices, async () => {});
  const failedNode = String(soFar.checkpoint.context['last_failure.node_id'] ?? '');
  const output = printed(soFar.checkpoint, failedNode);
  if (options.json === true) {
    const told = {
      schema_version: 1,
      run_id: manifest.run_id,
      status,
      reason,
      next_node: nextNode,
      pipeline: manifest.pipeline_path,
      started_at: manifest.started_at,
      elapsed_ms: elapsedMs,
      agent: manifest.agent.describe || 'none',
      sandbox: manifest.sandbox ?? null,
      holdout: manifest.holdout === undefined ? null : toldOf(manifest.holdout),
      spent: spent ?? null,
      prices: { dated: prices.dated, from: prices.from },
      wake_at: wakeAt,
      nodes: rows.map((row) => ({ ...row, spent: books.of(row.node) })),
      failure: failedNode === '' ? null : { node: failedNode, output },
      run_dir: dir,
      next,
    };
    io.out(`${JSON.stringify(told, null, 2)}\n`);
    return 0;
  }
  const paint = painter(paints(io, io.outIsTerminal, options.color));
  const stands = reason === '' ? status : `${status}: ${reason}`;
  const lines = [
    ['run', manifest.run_id],
    ['status', stands],
    ...(wakeAt === null ? [] : [['wakes', wakeAt]]),
    ...(status === 'running' && nextNode !== '' ? [['at', nextNode]] : []),
    ...(next === '' ? [] : [['next', next]]),
    ...(resumes && nextNode !== '' ? [['', `continues with node ${nextNode}`]] : []),
    ['pipeline', basename(manifest.pipeline_path)],
    ['agent', manifest.agent.describe || 'none'],
    ...sandboxLines(manifest),
    ...holdoutLines(manifest),
    ['time', elapsedWords(elapsedMs)],
    ...spentLines(spent, prices),
    ['files', dir],
  ];
  for (const [name = '', text = ''] of lines)
    io.out(`${paint.dim(name.padEnd(9))} ${foreign(text, ' '.repeat(10))}\n`);
  const costs = (node: string) => (books.of(node).calls === 0 ? '' : spentWords(books.of(node)));
  io.out(`\n${table(rows, costs, io.outIsTerminal ? io.width : 160).join('\n')}\n`);
  if (output !== '')
    io.out(`\noutput of node ${failedNode}, the latest failure:\n  ${foreign(output, '  ')}\n`);
  return 0;
}

async function refusedAs(code: string, message: string, options: ShowOptions, io: Io): Promise<number> {
  await refuse([wrong(code, message)], io, options);
  return 2;
}

function sandboxLines({ sandbox, not_enforced }: Manifest): string[][] {
  if (sandbox === undefined)
    return [['sandbox', 'none'], ...not_enforced.map((one) => ['', `not enforced: ${one}`])];
  return [
    ['sandbox', `${sandbox.used} (${sandbox.why})`],
    ...sandbox.enforces.map((one) => ['', `enforced: ${one}`]),
    ...sandbox.missing.map((one) => ['', `not enforced: ${one}`]),
  ];
}

function spentLines(spent: Spent | undefined, { dated, from }: Prices): string[][] {
  if (spent === undefined || spent.calls === 0) return [];
  return [
    ['spent', spentWords(spent)],
    ['', `by prices of ${dated} (${from}) where an agent tells no cost`],
  ];
}

function holdoutLines({ holdout }: Manifest): string[][] {
  if (holdout === undefined) return [];
  const { paths, files, from, sha256 } = holdout;
  return [
    [
      'sealed',
      `${paths.join(', ')}: ${files} file${files === 1 ? '' : 's'} from ${from === 'workdir' ? 'the workdir' : from}`,
    ],
    ['', `sha256 ${sha256}`],
  ];
}

/** By node, what the trace says of its latest visit. */
async function rungs(dir: string): Promise<ReadonlyMap<string, string>> {
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
function rowsOf(visits: readonly VisitRecord[], sandbox: ReadonlyMap<string, string>): readonly Row[] {
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
  }));
}

function table(rows: readonly Row[], costs: (node: string) => string, width: number): readonly string[] {
  const paid = rows.some((row) => costs(row.node) !== '');
  const cells = [
    ['node', 'type', 'visits', 'retries', 'sandbox', ...(paid ? ['spent'] : []), 'outcome'],
    ...rows.map((row) => [
      row.node,
      row.type,
      String(row.visits),
      String(row.retries),
      row.sandbox ?? '',
      ...(paid ? [costs(row.node)] : []),
      [row.outcome, row.failure_class ?? '', row.failure_reason].filter((word) => word !== '').join(' · '),
    ]),
  ];
  const widths = (cells[0] ?? [])
    .slice(0, -1)
    .map((_, column) => cells.reduce((most, row) => Math.max(most, (row[column] ?? '').length), 0));
  return cells.map((row) => {
    const fixed = widths.map((wide, column) => (row[column] ?? '').padEnd(wide)).join('  ');
    return `${fixed}  ${oneLine(row.at(-1) ?? '', Math.max(20, width - fixed.length - 2))}`.trimEnd();
  });
}
