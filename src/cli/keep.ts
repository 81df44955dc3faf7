/** `factory keep`: executes the runs of the queue. */
import { startDetached } from '../app/detach.ts';
import { flagWords } from '../app/typed-command.ts';
import { type KeepSettings, keep } from '../keeper/keep.ts';
import { type PruneRule, pruneWords } from '../keeper/prune-rule.ts';
import { runsDirOf } from './find-run.ts';
import type { CliIo } from './io.ts';
import { addressWords, type MetricsOptions, serveMetrics } from './keep-metrics.ts';
import { databaseUrlOf } from './options.ts';
import { openView, type ViewOptions } from './report/live.ts';
import { tokenVariable } from './serve.ts';
import type { VerbResult } from './verb.ts';

export type KeepOptions = ViewOptions &
  MetricsOptions & {
    readonly slots?: number;
    readonly labels?: readonly string[];
    /** Bytes. */
    readonly minFree?: number;
    /** Milliseconds. */
    readonly drainTimeout?: number;
    readonly prune?: PruneRule;
    readonly notify?: string;
    readonly install?: boolean;
  };

const defaults = { slots: 1, minFree: 1024 ** 3, drainTimeout: 600_000 } as const;

/** Works until a signal; then it drains, and the exit code is 0. */
export async function keepCommand(options: KeepOptions, io: CliIo): Promise<VerbResult> {
  const settings = settingsOf(options, io);
  if (options.install === true)
    return (await import('./keep-install.ts')).installWorker(settings, wordsOf(options, settings), io);
  const drain = io.signal();
  const atOnce = io.secondSignal?.() ?? new AbortController().signal;
  // The view of a single run does not fit a worker.
  const { log } = await openView(options, { ...io, errIsTerminal: false });
  // Engines do not need the queue, and its address has a password.
  const { FACTORY_DB: _, [tokenVariable]: __, ...env } = io.env;
  const metrics = await serveMetrics(options, io);
  if (metrics !== undefined && 'problems' in metrics) return metrics;
  if (metrics !== undefined) log('info', 'metrics are served', { url: metrics.url });
  const refused = await keep(settings, {
    ...{ cwd: io.cwd, env: io.env, clock: io.clock, log, drain, atOnce },
    ...(io.called === undefined ? {} : { called: io.called }),
    start: (argv, { cwd, signal, asksQueue }) =>
      startDetached(argv, { cwd, env: asksQueue ? { ...env, FACTORY_DB: settings.db } : env, signal }),
  });
  await metrics?.close();
  return refused ?? 0;
}

const settingsOf = (options: KeepOptions, io: CliIo): KeepSettings => ({
  runsDir: runsDirOf(options, io),
  db: databaseUrlOf(options, io),
  slots: options.slots ?? defaults.slots,
  labels: options.labels,
  minFreeBytes: options.minFree ?? defaults.minFree,
  drainTimeoutMs: options.drainTimeout ?? defaults.drainTimeout,
  prune: options.prune,
  notify: options.notify,
});

/** The flags that start the same worker from anywhere. */
const wordsOf = (options: KeepOptions, settings: KeepSettings): readonly string[] =>
  flagWords({
    runsdir: settings.runsDir,
    db: options.db,
    slots: options.slots,
    labels: options.labels?.join(','),
    min_free: options.minFree,
    drain_timeout: options.drainTimeout === undefined ? undefined : `${options.drainTimeout}ms`,
    prune: options.prune && pruneWords(options.prune),
    notify: options.notify,
    metrics: options.metrics && addressWords(options.metrics),
    token_file: options.tokenFile,
    log_level: options.logLevel,
    log_format: options.logFormat,
  });
