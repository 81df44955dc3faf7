/** The verb that executes the queue. */
import { labelForm, labelFormWords } from '../core/records/job.ts';
import { parsePruneRule } from '../keeper/prune-rule.ts';
import type { MetricsAddress } from './keep-metrics.ts';
import {
  BadValue,
  dbOption,
  logOptions,
  milliseconds,
  notEmpty,
  notifyOption,
  option,
  runsdir,
  size,
  wholeNumber,
} from './options.ts';
import type { Verb } from './verb.ts';

function pruneRule(typed: string) {
  const rule = parsePruneRule(typed);
  if ('problem' in rule) throw new BadValue(`--prune ${typed}: ${rule.problem}`, rule.fix);
  return rule;
}

function labelList(typed: string, before: readonly string[] = []): readonly string[] {
  const labels = typed.split(',').map((label) => label.trim());
  const bad = labels.find((label) => !labelForm.test(label));
  if (bad === undefined) return [...new Set([...before, ...labels])].sort();
  throw new BadValue(`--labels: "${bad}" is no label`, `a label has ${labelFormWords}`);
}

/** Reads `9464`, `127.0.0.1:9464` or `[::1]:9464`. */
function metricsAddress(typed: string): MetricsAddress {
  const [, host = '127.0.0.1', port = ''] =
    /^(?:(\[[0-9a-f:.]+\]|[^:[\]\s]+):)?(\d{1,5})$/i.exec(typed) ?? [];
  if (port !== '' && Number(port) <= 65_535)
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  throw new BadValue(
    `--metrics ${typed} is no address`,
    'write a port, or HOST:PORT, such as --metrics 9464 or --metrics 10.0.0.7:9464',
  );
}

export const keepVerb: Verb = {
  usage: 'keep',
  about: 'Execute the runs of the queue: as many at once as it has slots, until a signal',
  examples: [
    'keep --slots 4',
    'keep --slots 2 --labels gpu,large --min-free 20G --prune older=14d,keep-failed',
  ],
  exits: {
    0: 'stopped by a signal; its runs continue with another worker',
    2: 'invalid usage, or the queue cannot be opened',
    130: 'ended at once by a third signal; its engines may still run',
  },
  options: () => [
    option('--slots <n>', 'how many runs to execute at once (default: 1)', wholeNumber(1, 999)),
    option('--labels <list>', 'take only runs all of whose labels are among these (default: any)', labelList),
    option(
      '--min-free <size>',
      'start no run with less free disk space (default: 1G)',
      size('--min-free', '20G'),
    ),
    option(
      '--drain-timeout <duration>',
      'after a signal, wait so long for the nodes that run (default: 10m)',
      milliseconds('--drain-timeout', '1h'),
    ),
    option(
      '--prune <rule>',
      'remove old runs each hour: older=14d,keep=20,keep-failed (see factory prune)',
      pruneRule,
    ),
    notifyOption(
      'when a run ends, is suspended or needs a person, pass a JSON notice to this command or POST it to this URL',
    ),
    option(
      '--install',
      'write a systemd unit (macOS: a launchd file) that starts this worker, and say how to start it',
    ),
    option(
      '--metrics <address>',
      'serve metrics for Prometheus: a port on this machine, or HOST:PORT, which needs a token unless it is loopback',
      metricsAddress,
    ),
    option(
      '--token-file <file>',
      'file with the token of the metrics, 16 characters or more (also: FACTORY_SERVE_TOKEN)',
      notEmpty,
    ),
    runsdir(),
    dbOption(),
    ...logOptions(),
  ],
  load: async () => (await import('./keep.ts')).keepCommand,
};
