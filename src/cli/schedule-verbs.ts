/** The verbs of schedules. */
import { missedRules } from '../core/records/schedule.ts';
import {
  dbOption,
  json,
  nameOfJob,
  noColor,
  notEmpty,
  option,
  passedOptions,
  priorityOption,
  runsdir,
} from './options.ts';
import type { Group, Verb } from './verb.ts';

const about = 'Submit a pipeline or a spec again and again (steps: list, pause, resume, run, remove)';

const named = (
  step: string,
  does: string,
  load: Verb['load'],
  more: () => ReturnType<Verb['options']> = () => [],
): Verb => ({
  usage: `${step} <name>`,
  about: does,
  exits: { 2: 'no such schedule; nothing was changed' },
  options: () => [...more(), runsdir(), json()],
  load,
});

export const scheduleVerbs: Group = {
  usage: 'schedule <step>',
  about,
  examples: [
    'schedule "0 2 * * *" my-spec.md --zone Europe/Berlin',
    'schedule "*/30 8-18 * * 1-5" fix-loop --name fixes --missed skip --label day',
    'schedule run fixes',
  ],
  exits: { 2: 'invalid text, flags or times; nothing was kept' },
  self: {
    usage: '[cron] [source]',
    about,
    options: () => [
      option('--name <name>', 'name of the schedule (default: that of the file)', nameOfJob),
      option('--zone <zone>', 'time zone of the times (default: that of this machine)', notEmpty),
      option(
        '--missed <rule>',
        'when no worker ran at a time: one run for all of them (once, the default), or none (skip)',
      ).choices(missedRules),
      priorityOption(),
      ...passedOptions(['name']),
      runsdir(),
      dbOption(),
      json(),
      noColor(),
    ],
    load: async () => (await import('./schedule.ts')).scheduleCommand,
  },
  verbs: [
    {
      usage: 'list',
      about: 'List schedules, their next times, and what is wrong with them',
      options: () => [runsdir(), json(), noColor()],
      load: async () => (await import('./schedule.ts')).scheduleListCommand,
    },
    named(
      'pause',
      'Let a schedule submit nothing until it is resumed',
      async () => (await import('./schedule.ts')).schedulePauseCommand,
    ),
    named(
      'resume',
      'End the pause of a schedule; the times of the pause do not count',
      async () => (await import('./schedule.ts')).scheduleResumeCommand,
    ),
    named(
      'run',
      'Submit a run of a schedule now',
      async () => (await import('./schedule.ts')).scheduleRunCommand,
      () => [dbOption()],
    ),
    named(
      'remove',
      'Remove a schedule; its runs stay',
      async () => (await import('./schedule.ts')).scheduleRemoveCommand,
    ),
  ],
};
