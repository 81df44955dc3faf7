/** Removes old runs, by age and number. */
import { statSync } from 'node:fs';
import type { Clock } from '../core/contracts/clock.ts';
import type { Environment } from '../core/contracts/process.ts';
import { pausedBy } from '../core/outcome.ts';
import { layout } from '../core/records/layout.ts';
import { listRuns, type RunSummary } from '../run/summary.ts';
import { bytesOf, type KeptFor, keptFor, removeRun } from './remove-run.ts';
import { removeAbandoned } from './run/run-directory.ts';

export type PruneRules = {
  /** Keep runs that changed within so many milliseconds. */
  readonly olderMs?: number | undefined;
  /** Keep the newest ones, whatever their age. */
  readonly keep?: number | undefined;
  /** Keep runs that did not complete. */
  readonly keepFailed: boolean;
  /** Remove also completed runs whose commits were never delivered. */
  readonly undelivered: boolean;
  /** Remove nothing. */
  readonly dryRun: boolean;
  /** Ids of runs that a queue has: they are to be continued. */
  readonly queued?: ReadonlySet<string>;
};

export type Pruned = {
  /** Oldest first. `freed`: bytes. */
  readonly removed: readonly { readonly run: RunSummary; readonly freed: number }[];
  /** What the rules would remove and is kept all the same, with the reason. */
  readonly kept: readonly { readonly run: RunSummary; readonly why: KeptFor | 'suspended' | 'queued' }[];
  /** Runs that the rules keep. */
  readonly others: number;
};

/** Removes the runs that the rules do not keep. Never one that a process works for, that waits for an answer or resumes at a time to
 *  come, or that cannot be read. */
export async function pruneRuns(
  runsDir: string,
  rules: PruneRules,
  host: { readonly clock: Clock; readonly env: Environment },
): Promise<Pruned> {
  const now = host.clock.now().getTime();
  if (!rules.dryRun) await removeAbandoned(runsDir, now, host.env);
  const all = await listRuns(runsDir, host.clock);
  const old = all.filter((run, at) => !isKept(run, at, rules, now)).reverse();
  const removed: { run: RunSummary; freed: number }[] = [];
  const kept: { run: RunSummary; why: Pruned['kept'][number]['why'] }[] = [];
  for (const run of old) {
    const why = await whyKept(run, rules, now);
    if (why !== undefined) {
      kept.push({ run, why });
      continue;
    }
    const done = rules.dryRun ? { freed: bytesOf(run.dir) } : await removeRun(run, host);
    // Another process has taken it in the meantime.
    if ('problems' in done) kept.push({ run, why: 'running' });
    else removed.push({ run, ...done });
  }
  return { removed, kept, others: all.length - old.length };
}

/** `at`: its place among all runs, the newest is 0. */
const isKept = (run: RunSummary, at: number, { olderMs, keep = 0, keepFailed }: PruneRules, now: number) =>
  at < keep ||
  (keepFailed && run.status !== 'completed') ||
  (olderMs !== undefined && now - changedAt(run.dir) < olderMs);

async function whyKept(run: RunSummary, { undelivered, queued }: PruneRules, now: number) {
  if (queued?.has(run.id) === true) return 'queued';
  // A person may take longer than any rule.
  if (run.status === pausedBy('answer')) return 'suspended';
  if (run.wakeAt !== null && Date.parse(run.wakeAt) > now) return 'suspended';
  const why = await keptFor(run);
  return why === 'undelivered' && undelivered ? undefined : why;
}

/** When a record of the run was last written, in milliseconds since 1970. */
function changedAt(runDir: string): number {
  const { manifest, journal, checkpoint, result, acts } = layout(runDir);
  const times = [manifest, journal, checkpoint, result, acts].map(
    (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  return Math.max(...times);
}
