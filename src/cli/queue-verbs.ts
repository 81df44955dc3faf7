/** The verbs of the queue of runs. */
import { submitOptions } from './options.ts';
import type { Group, Verb } from './verb.ts';

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
];
