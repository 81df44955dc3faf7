/** `factory rm` and `factory prune`: remove runs that are not needed any more. */
import { dirname } from 'node:path';
import { type Pruned, pruneRuns } from '../app/prune.ts';
import { askQueue } from '../app/queued-run.ts';
import { bytesOf, keptWords, removableRun, removeRun } from '../app/remove-run.ts';
import { removeAbandoned } from '../app/run/run-directory.ts';
import { countedItems, sizeWords } from '../core/amounts.ts';
import type { RunSummary } from '../run/summary.ts';
import { findNamed, runsDirOf, usage } from './find-run.ts';
import { type CliIo, paints } from './io.ts';
import { databaseUrlOf } from './options.ts';
import type { VerbResult } from './verb.ts';

export type RmOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly color?: boolean;
};

/** Removes the named runs, or none of them if one must not be removed. On a terminal a person is asked first. */
export async function rmCommand(
  names: readonly string[],
  options: RmOptions,
  io: CliIo,
): Promise<VerbResult> {
  const runs = new Map<string, RunSummary>();
  const host = { ...io, db: databaseUrlOf(options, io) };
  for (const name of names) {
    const found = await findNamed(name, { ...options, titles: 'none' }, io);
    if ('problems' in found) return found;
    const run = await removableRun(found, { force: options.force === true }, host);
    if ('problems' in run) return run;
    runs.set(found.dir, run);
  }
  const chosen = [...runs.values()].map((run) => ({ run, bytes: bytesOf(run.dir) }));
  if (options.dryRun === true) return reportDryRun(chosen, options, io);
  if (!(await isConfirmed(chosen, options, io))) {
    io.err('nothing was removed\n');
    return 1;
  }
  const now = io.now().getTime();
  for (const runsDir of new Set([...runs.keys()].map((dir) => dirname(dir))))
    await removeAbandoned(runsDir, now, io.env);
  const removed = [];
  for (const run of runs.values()) {
    const done = await removeRun(run, io);
    if ('problems' in done) return done;
    removed.push({ run_id: run.id, status: run.status, freed_bytes: done.freed });
    if (options.json !== true) io.out(`removed ${run.id} (${run.status}, ${sizeWords(done.freed)})\n`);
  }
  if (options.json === true) io.out(`${JSON.stringify({ schema_version: 1, removed }, null, 2)}\n`);
  return 0;
}

type Chosen = { readonly run: RunSummary; readonly bytes: number };

const lineOf = ({ run, bytes }: Chosen): string => `${run.id} (${run.status}, ${sizeWords(bytes)})`;

function reportDryRun(chosen: readonly Chosen[], { json }: RmOptions, io: CliIo): number {
  const removed = chosen.map(({ run, bytes }) => ({
    run_id: run.id,
    status: run.status,
    freed_bytes: bytes,
  }));
  if (json === true) io.out(`${JSON.stringify({ schema_version: 1, dry_run: true, removed }, null, 2)}\n`);
  else for (const one of chosen) io.out(`would remove ${lineOf(one)}\n`);
  return 0;
}

/** Asks on a terminal; elsewhere, and with --yes, a program has decided. */
async function isConfirmed(chosen: readonly Chosen[], options: RmOptions, io: CliIo): Promise<boolean> {
  const { terminal } = io;
  if (terminal === undefined || options.yes === true || options.json === true) return true;
  for (const one of chosen) io.err(`${lineOf(one)}\n`);
  const { confirmOnTerminal } = await import('./ask.ts');
  const colour = paints(io, io.errIsTerminal, options.color);
  const message = `Remove ${chosen.length === 1 ? 'this run' : `these ${chosen.length} runs`} with all files?`;
  return confirmOnTerminal(message, terminal, { io, colour, signal: io.signal() });
}

const reasons: Readonly<Record<Pruned['kept'][number]['why'], string>> = {
  ...keptWords,
  suspended: 'is suspended and can resume later',
  queued: 'is in the queue',
};

export type PruneOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  /** Milliseconds. */
  readonly older?: number;
  readonly keep?: number;
  readonly keepFailed?: boolean;
  readonly undelivered?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

/** Removes the runs that the rules do not keep. */
export async function pruneCommand(options: PruneOptions, io: CliIo): Promise<VerbResult> {
  const { older, keep, dryRun = false } = options;
  if (older === undefined && keep === undefined)
    return usage('nothing says which runs are old', 'for example factory prune --older 14d --keep 20');
  const rules = {
    olderMs: older,
    keep,
    keepFailed: options.keepFailed === true,
    undelivered: options.undelivered === true,
    dryRun,
  };
  const runsDir = runsDirOf(options, io);
  const host = { ...io, db: databaseUrlOf(options, io) };
  const queued = await askQueue(runsDir, host, (queue) => queue.list());
  if (queued !== undefined && 'problems' in queued) return queued;
  const ids = new Set(queued?.map(({ job }) => job.run_id));
  const pruned = await pruneRuns(runsDir, { ...rules, queued: ids }, io);
  if (options.json === true) io.out(`${JSON.stringify(pruneRecord(pruned, dryRun), null, 2)}\n`);
  else for (const line of pruneLines(pruned, dryRun)) io.out(`${line}\n`);
  return 0;
}

const pruneRecord = ({ removed, kept, others }: Pruned, dryRun: boolean) => ({
  schema_version: 1,
  dry_run: dryRun,
  removed: removed.map(({ run, freed }) => ({ run_id: run.id, status: run.status, bytes: freed })),
  kept: kept.map(({ run, why }) => ({ run_id: run.id, status: run.status, why })),
  others,
});

function pruneLines({ removed, kept, others }: Pruned, dryRun: boolean): readonly string[] {
  const verb = dryRun ? 'would remove' : 'removed';
  const bytes = removed.reduce((sum, { freed }) => sum + freed, 0);
  return [
    ...removed.map(({ run, freed }) => `${verb} ${run.id} (${run.status}, ${sizeWords(freed)})`),
    ...kept.map(({ run, why }) => `kept ${run.id}: it ${reasons[why]}`),
    `${verb} ${countedItems(removed.length, 'run')}, ${sizeWords(bytes)}; kept ${kept.length + others}`,
    ...(kept.some(({ why }) => why === 'undelivered') ? ['--undelivered removes undelivered runs too'] : []),
  ];
}
