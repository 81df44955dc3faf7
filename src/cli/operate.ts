/** The verbs that operate runs from outside: stop, wait, remove. */

import { json, milliseconds, option, runsdir, wholeNumber } from './options.ts';
import type { Verb } from './verb.ts';

export const operateVerbs: readonly Verb[] = [
  {
    usage: 'stop <run>',
    about: 'Stop a running run, as Ctrl-C does; it can be resumed',
    options: () => [
      option(
        '--timeout <duration>',
        'longest wait for its end (default: no limit)',
        milliseconds('--timeout', '1m'),
      ),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./stop.ts')).stopCommand,
  },
  {
    usage: 'wait <runs...>',
    about: 'Wait until runs have ended or are suspended; the exit code is that of the run',
    options: () => [
      option(
        '--timeout <duration>',
        'longest wait; then the exit code is 124',
        milliseconds('--timeout', '1h'),
      ),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./wait.ts')).waitCommand,
  },
  {
    usage: 'rm <runs...>',
    about: 'Remove runs that are not running',
    options: () => [
      option('--force', 'remove also runs with undelivered commits, and damaged ones'),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./rm.ts')).rmCommand,
  },
  {
    usage: 'prune',
    about: 'Remove old runs',
    options: () => [
      option('--older <duration>', 'keep runs that changed within this time', milliseconds('--older', '14d')),
      option('--keep <n>', 'keep the n newest runs', wholeNumber(0)),
      option('--keep-failed', 'keep runs that did not complete'),
      option('--undelivered', 'remove also runs with undelivered commits'),
      option('--dry-run', 'remove nothing; print what would be removed'),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./rm.ts')).pruneCommand,
  },
];
