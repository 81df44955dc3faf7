/** The verbs of the queue of runs. */
import { queueSettingNames } from '../core/settings/queue.ts';
import { followVerb, intakeVerb } from './github-verbs.ts';
import { keepVerb } from './keep-verb.ts';
import {
  dbOption,
  json,
  milliseconds,
  noColor,
  notBeforeOption,
  notEmpty,
  option,
  priorityOption,
  runsdir,
  submitOptions,
} from './options.ts';
import { scheduleVerbs } from './schedule-verbs.ts';
import type { Group, Verb } from './verb.ts';

/** Of the steps that change a job; those that stop a run wait for that. */
const changing = () => [runsdir(), dbOption(), json()];
const waiting = () => [
  option(
    '--timeout <duration>',
    'longest wait for a run that stops first (default: no limit)',
    milliseconds('--timeout', '1m'),
  ),
  ...changing(),
];
const labelOption = () => option('--label <word>', 'for runs with this label only', notEmpty);
const exitsOfWait = {
  0: 'done; or the run has ended before, and its job has left the queue',
  1: 'its run cannot be stopped from here',
  124: 'its run has not stopped within the time',
};

const queueSteps: readonly Verb[] = [
  {
    usage: 'move <run>',
    about: 'Move a job that does not run: in the order, or to another time',
    options: () => [
      option('--first', 'before all that wait or sleep'),
      option('--last', 'behind all that wait or sleep'),
      priorityOption('new priority: a higher one goes first'),
      option('--now', 'make it due; also one that is held or sleeps'),
      notBeforeOption(),
      ...changing(),
    ],
    load: async () => (await import('./queue.ts')).queueMove,
  },
  {
    usage: 'hold <run>',
    about: 'Put a job on hold until it is moved; a run that runs finishes its node first',
    exits: exitsOfWait,
    options: () => [option('--reason <text>', 'why, for people', notEmpty), ...waiting()],
    load: async () => (await import('./queue.ts')).queueHold,
  },
  {
    usage: 'drop <run>',
    about: 'Take a job out of the queue; a run that runs is stopped first, and its directory stays',
    exits: exitsOfWait,
    options: waiting,
    load: async () => (await import('./queue.ts')).queueDrop,
  },
  {
    usage: 'set [name] [value]',
    about: `Cap what all runs spend in a day, or print what is set: ${queueSettingNames.join(', ')}`,
    examples: ['queue set max_cost_usd_day 50', 'queue set max_running 2 --label big'],
    exits: { 0: 'set, or printed', 2: 'no such setting, or no such value; nothing was set' },
    options: () => [labelOption(), ...changing()],
    load: async () => (await import('./queue-settings.ts')).queueSet,
  },
  {
    usage: 'unset <name>',
    about: 'Remove a cap',
    examples: ['queue unset max_running --label big'],
    options: () => [labelOption(), ...changing()],
    load: async () => (await import('./queue-settings.ts')).queueUnset,
  },
  {
    usage: 'release <hold>',
    about: 'Remove the hold of an account at a provider: its next call is made at once',
    options: () => [runsdir()],
    load: async () => (await import('./queue.ts')).queueRelease,
  },
];

export const queueVerbs: readonly (Verb | Group)[] = [
  {
    usage: 'submit <names...>',
    about: 'Put runs into the queue: pipelines, specs (as factory build), or folders of specs',
    examples: [
      'submit my-spec.md --workdir ../my-project --not-before 22:00',
      'submit specs --in-order --label night',
      'submit fix-loop.dot --key nightly-17 --priority 5',
    ],
    exits: {
      0: 'queued; or nothing to do, where the key is known',
      2: 'invalid text, flags or time; nothing was queued',
    },
    options: submitOptions,
    load: async () => (await import('./submit.ts')).submitCommand,
  },
  {
    usage: 'queue <step>',
    about: 'Show the queue: what runs, waits, sleeps, needs a person, and why; or change it',
    examples: [
      'queue --watch',
      'queue move nightly-17 --first',
      'queue hold nightly-17 --reason "not before the release"',
    ],
    self: {
      usage: '',
      about: 'Show the queue: what runs, waits, sleeps, needs a person, and why',
      options: () => [
        option('--watch', 'show it until Ctrl-C, and each change'),
        option(
          '--migrate',
          'create or upgrade the tables of a queue in PostgreSQL, and show nothing',
        ).conflicts('watch'),
        runsdir(),
        dbOption(),
        json('print the queue as JSON; with --watch a line for each change'),
        noColor(),
      ],
      load: async () => (await import('./queue.ts')).queueCommand,
    },
    verbs: queueSteps,
  },
  intakeVerb,
  followVerb,
  keepVerb,
  scheduleVerbs,
];
