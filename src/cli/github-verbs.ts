/** The verbs that ask GitHub. */
import {
  dbOption,
  json,
  noColor,
  notBeforeOption,
  notEmpty,
  option,
  passedOptions,
  priorityOption,
  repeatable,
  runsdir,
  wholeNumber,
} from './options.ts';
import type { Group, Verb } from './verb.ts';

/** Flags of the runs. `--label` is the label of the issues here. */
const runFlags = () =>
  passedOptions().map((one) => {
    if (one.attributeName() !== 'labels') return one;
    one.attributeName = () => 'labels';
    return Object.assign(one, { flags: one.flags.replace('--label', '--run-label'), long: '--run-label' });
  });

export const intakeVerb: Group = {
  usage: 'intake <from>',
  about: 'Turn issues with a label into runs in the queue: github OWNER/REPO',
  examples: ['intake github my-org/my-project --label factory --workdir ../my-project'],
  exits: {
    0: 'every issue was looked at; those that wait for a person are printed',
    2: 'invalid usage, no access, or flags that no run can have',
    75: 'GitHub asks to wait, or cannot be reached: the same command later does the rest',
    130: 'interrupted',
  },
  verbs: [
    {
      usage: 'github <repo>',
      about: 'Queue a run for each open issue whose label was set by someone with write access',
      options: () => [
        option('--label <name>', 'label of the issues (default: factory)', notEmpty),
        option('--pipeline <name>', 'pipeline with a variable spec (default: compile-and-build)', notEmpty),
        runsdir(),
        dbOption(),
        priorityOption(),
        notBeforeOption(),
        ...runFlags(),
        json(),
        option('-q, --quiet', 'print run ids of new runs only'),
        noColor(),
      ],
      load: async () => (await import('./intake.ts')).intakeCommand,
    },
  ],
};

export const followVerb: Verb = {
  usage: 'follow <target>',
  about: 'Follow the pull request of a run: comments of people with write access become rounds of work',
  examples: [
    'follow latest',
    'follow my-org/my-project#17 --rounds 5 --max-cost-usd 2',
    'follow latest --look',
  ],
  exits: {
    0: 'a job of the queue follows it; with --look: the pull request is merged or closed',
    1: 'with --look: it goes no further without a person; the message says why',
    2: 'invalid usage, no access, or no pull request',
    75: 'with --look: nothing is to be done now, or a round is under way; or GitHub asks to wait',
    130: 'interrupted',
  },
  options: () => [
    option('--look', 'look once in this process, as a worker does for the job'),
    option('--adopt', 'look once, and build on the commits that others have pushed to the branch'),
    option('--rounds <n>', 'limit of rounds of work, of all looks together (default: 3)', wholeNumber(0)),
    option(
      '--merges <n>',
      'most merges of a base that has moved, each verified before it is pushed; 0: none (default: 3)',
      wholeNumber(0),
    ),
    option('--trust <login>', 'a bot whose comments are requests, too; repeatable', repeatable),
    option('--repo <name>', 'OWNER/REPO of the pull request (default: that of the first remote)', notEmpty),
    runsdir(),
    dbOption(),
    priorityOption(),
    ...passedOptions(['workdir', 'holdout_from', 'name']),
    json(),
    noColor(),
  ],
  load: async () => (await import('./follow.ts')).followCommand,
};
