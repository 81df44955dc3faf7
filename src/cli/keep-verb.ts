/** The verb that executes the queue. */
import { labelForm, labelFormWords } from '../core/records/job.ts';
import { parsePruneRule } from '../keeper/prune-rule.ts';
import {
  BadValue,
  dbOption,
  logOptions,
  milliseconds,
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
    runsdir(),
    dbOption(),
    ...logOptions(),
  ],
  load: async () => (await import('./keep.ts')).keepCommand,
};
