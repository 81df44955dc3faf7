/** `factory rm` and `factory prune`: remove runs that are not needed any more. */
import { dirname } from 'node:path';
import { type Pruned, pruneRuns } from '../app/prune.ts';
import { askQueue } from '../app/queued-run.ts';
import { holdsRun, type KeptFor, keptFor, removeRun } from '../app/remove-run.ts';
import { removeAbandoned } from '../app/run/run-directory.ts';
import { countedItems, sizeWords } from '../core/amounts.ts';
import type { Refusal } from '../core/diagnostic.ts';
import { hasSucceeded } from '../core/overridden.ts';
import { namedRun } from '../run/runs.ts';
import { type RunSummary, summaryOf } from '../run/summary.ts';
import { findNamed, type NamedRun, runsDirOf, usage } from './find-run.ts';
import type { CliIo } from './io.ts';
import { databaseUrlOf } from './options.ts';
import type { VerbResult } from './verb.ts';

export type RmOptions = {
  readonly runsdir?: string;
  readonly db?: string;
  readonly force?: boolean;
  readonly json?: boolean;
};

/** Removes the named runs, or none of them if one must not be removed. */
export async function rmCommand(
  names: readonly string[],
  options: RmOptions,
  io: CliIo,
): Promise<VerbResult> {
  const runs = new Map<string, RunSummary>();
  for (const name of names) {
    const found = await findNamed(name, { ...options, titles: 'whole' }, io);
    if ('problems' in found) return found;
    if (!(await holdsRun(found.dir)))
      return usage(`${found.dir} does not look like a run directory; nothing was removed`, 'check the name');
    const kept = await keptForQueue(found, options, io);
    if (kept !== undefined) return kept;
    runs.set(found.dir, await summaryOf(found.id, found.dir, io.clock));
  }
  for (const run of runs.values()) {
    const why = await keptFor(run);
    if (why === 'running' || (why !== undefined && options.force !== true)) return mustStay(run, why, io);
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

/** A worker would begin a removed run anew. A queue that cannot be asked may have it. */
async function keptForQueue(run: NamedRun, options: RmOptions, io: CliIo): Promise<Refusal | undefined> {
  const host = { ...io, db: databaseUrlOf(options, io) };
  const queued = await askQueue(dirname(run.dir), host, (queue) => queue.get(run.id));
  if (queued === undefined) return undefined;
  if ('problems' in queued) return options.force === true ? undefined : queued;
  return usage(
    `run ${run.id} is in the queue (${queued.state}); nothing was removed`,
    `take it out first: factory queue drop ${namedRun(run.dir, io.cwd)}`,
  );
}

function mustStay({ id, dir, status }: RunSummary, why: KeptFor, { cwd }: CliIo): Refusal {
  const run = namedRun(dir, cwd);
  const goesOn = hasSucceeded(status) ? 'deliver' : 'resume';
  const flag = status === 'overridden' ? ' --overridden' : '';
  const fixes: Readonly<Record<KeptFor, string>> = {
    running: `stop it first: factory stop ${run}`,
    undelivered: `factory ${goesOn} ${run}${flag}; --force removes them with the run`,
    unreadable: `factory verify ${run} shows more; --force removes it`,
  };
  return usage(`run ${id} ${reasons[why]}; nothing was removed`, fixes[why]);
}

const reasons: Readonly<Record<Pruned['kept'][number]['why'], string>> = {
  running: 'is running',
  undelivered: 'has commits that were never delivered',
  unreadable: 'cannot be read, so that it may have commits that were never delivered',
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
