/** The verbs that operate runs from outside: stop, wait, remove; and what is done with one that has ended. */
import {
  dbOption,
  json,
  looking,
  milliseconds,
  noColor,
  notEmpty,
  notifyOption,
  option,
  runsdir,
  wholeNumber,
} from './options.ts';
import type { Verb } from './verb.ts';

export const operateVerbs: readonly Verb[] = [
  {
    usage: 'answer <run> [question]',
    about: 'Answer the question that a run asks; without --choice and --text, show it and ask',
    examples: ['answer latest --choice approve', 'answer latest review@2 --text "Use less ink" --by ada'],
    exits: {
      0: 'answered; or shown, where there is no terminal to ask on',
      1: 'another answer was first, or none was given',
      2: 'no such run, question or option; nothing was written',
      130: 'interrupted',
    },
    options: () => [
      option('--choice <option>', 'key, label or target of an option', notEmpty),
      option('--text <text>', 'an answer in words, where the question takes one'),
      option('--by <name>', 'who answers (default: the name of the user)', notEmpty),
      option('--no-resume', 'do not resume the run (a process that waits for the answer does)'),
      notifyOption('gets a notice of the run that this resumes in the background (see factory run)'),
      runsdir(),
      dbOption(),
      json(),
      noColor(),
    ],
    load: async () => (await import('./answer.ts')).answerCommand,
  },
  {
    usage: 'steer <run> <text>',
    about: 'Give the next agent of a run a note; it is at the end of its prompt',
    examples: [
      'steer latest "Keep the old file format"',
      'steer latest "Use less ink" --branch draw --by ada',
    ],
    exits: {
      0: 'the note waits for the next agent',
      1: 'the run has ended',
      2: 'no such run or branch, or no agent; nothing was written',
    },
    options: () => [
      option('--branch <branch>', 'only for agents of this branch: the id of its first node', notEmpty),
      option('--by <name>', 'who gives it (default: the name of the user)', notEmpty),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./steer.ts')).steerCommand,
  },
  {
    usage: 'dismiss <run>',
    about: 'Take a run out of those that need attention, until something happens to it',
    examples: ['dismiss latest'],
    exits: { 0: 'it is dismissed', 1: 'it needs no attention' },
    options: () => [runsdir(), json()],
    load: async () => (await import('./dismiss.ts')).dismissCommand,
  },
  {
    usage: 'stop <run>',
    about: 'Stop a running run, as Ctrl-C does; it can be resumed',
    examples: ['stop latest', 'stop latest --after-node'],
    exits: {
      0: 'it has stopped, or did not run',
      1: 'it cannot be stopped from here',
      124: 'it has not stopped within the time',
    },
    options: () => [
      option('--after-node', 'let the nodes that run now finish first'),
      option(
        '--timeout <duration>',
        'longest wait for its end (default: no limit)',
        milliseconds('--timeout', '1m'),
      ),
      runsdir(),
      dbOption(),
      json(),
    ],
    load: async () => (await import('./stop.ts')).stopCommand,
  },
  {
    usage: 'wait <runs...>',
    about: 'Wait until runs have ended or are suspended; the exit code is that of the run',
    examples: ['wait latest --timeout 1h'],
    exits: { 0: 'all succeeded; else as the first run that did not', 124: 'the time is up' },
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
    about: 'Remove runs that are not running; on a terminal, ask first',
    examples: ['rm -2', 'rm -2 --dry-run'],
    exits: { 0: 'removed', 1: 'not confirmed; nothing was removed', 2: 'no such run, or one must be kept' },
    options: () => [
      option('--force', 'remove also runs with undelivered commits, and damaged ones'),
      option('-y, --yes', 'do not ask'),
      option('--dry-run', 'remove nothing, print what would be removed'),
      runsdir(),
      dbOption(),
      json(),
      noColor(),
    ],
    load: async () => (await import('./rm.ts')).rmCommand,
  },
  {
    usage: 'prune',
    about: 'Remove old runs',
    examples: ['prune --older 14d --keep-failed'],
    options: () => [
      option('--older <duration>', 'keep runs that changed within this time', milliseconds('--older', '14d')),
      option('--keep <n>', 'keep the n newest runs', wholeNumber(0)),
      option('--keep-failed', 'keep runs that did not complete'),
      option('--undelivered', 'remove also runs with undelivered commits'),
      option('--dry-run', 'remove nothing; print what would be removed'),
      runsdir(),
      dbOption(),
      json(),
    ],
    load: async () => (await import('./rm.ts')).pruneCommand,
  },
];

/** Recorded in the run. */
function acceptWeakOption() {
  const made = option(
    '--accept-weak',
    'deliver a run that failed only because its scenarios are too weak (min_strength)',
  );
  made.attributeName = () => 'accept_weak';
  return made;
}

export const endVerbs: readonly Verb[] = [
  {
    usage: 'deliver <run>',
    about: "Put a run's commits on a branch or into a new repository",
    examples: ['deliver latest --branch work/x --push'],
    exits: { 1: 'something failed on the way, perhaps only the push' },
    options: () => [
      option('--branch <name>', 'new branch in the source repository (default: factory/<run id>)', notEmpty),
      option('--to <dir>', 'create a repository in this new or empty directory', notEmpty),
      option('--reuse', 'fast-forward an existing branch to the commits'),
      option('--push', 'push the branch to the first remote'),
      option('--overridden', 'deliver a run that succeeded in spite of a failure, by the answer of a person'),
      acceptWeakOption(),
      runsdir(),
      json(),
    ],
    load: async () => (await import('./deliver.ts')).deliverCommand,
  },
  {
    usage: 'pr <run>',
    about: "Deliver a run, push its branch, and open that branch's pull request on GitHub, or update it",
    examples: ['pr latest', 'pr latest --draft --base develop'],
    exits: {
      0: 'the pull request is there',
      1: 'nothing to deliver, or something failed on the way; the message has what was done',
      2: 'invalid usage, no access, or a run that cannot be delivered; nothing was pushed',
      75: 'GitHub asks to wait, or cannot be reached: the same command later does the rest',
      130: 'interrupted',
    },
    options: () => [
      option('--draft', 'open it as a draft'),
      option('--base <branch>', 'branch to merge into (default: that of the repository)', notEmpty),
      option('--repo <name>', 'OWNER/REPO of the pull request (default: that of the first remote)', notEmpty),
      option('--branch <name>', 'branch with the commits (default: factory/<run id>)', notEmpty),
      option('--reuse', 'fast-forward an existing branch to the commits'),
      option('--overridden', 'deliver a run that succeeded in spite of a failure, by the answer of a person'),
      acceptWeakOption(),
      runsdir(),
      json(),
      noColor(),
    ],
    load: async () => (await import('./pr.ts')).pullCommand,
  },
  {
    usage: 'attest <run>',
    about: 'Sign what a run has made and what was checked: one file that others verify without the run',
    examples: ['attest latest --key signing.pem -o run.intoto.jsonl'],
    exits: { 1: 'the records of the run do not hold; nothing was signed' },
    options: () => [
      option(
        '--key <file>',
        'private Ed25519 key, as openssl genpkey -algorithm ed25519 writes it',
        notEmpty,
      ).makeOptionMandatory(),
      option('-o, --output <file>', 'file to write', notEmpty).makeOptionMandatory(),
      ...looking('print the fingerprint of the signer, the commit and the tree as JSON'),
    ],
    load: async () => (await import('./attest.ts')).attestCommand,
  },
  {
    usage: 'verify <run>',
    about: 'Check a run directory against its own hashes, offline; or a file of factory attest',
    examples: ['verify latest --repo ../my-project', 'verify run.intoto.jsonl --key signer.pub --repo .'],
    exits: { 0: 'the records hold, or the signer has signed the file', 1: 'not so' },
    options: () => [
      option('--key <file>', 'of a file: public key of the signer, from elsewhere than the file', notEmpty),
      option('--repo <dir>', 'repository that the commits were delivered to, or that has the attested ones'),
      option('--branch <name>', 'branch in that repository (default: factory/RUN; of a file: HEAD)'),
      option('--chain <hash>', 'expected hash of the executions (or a prefix), from the summary of the run'),
      ...looking('print the report as JSON'),
    ],
    load: async () => (await import('./verify.ts')).verifyCommand,
  },
  {
    usage: 'audit <run>',
    about: 'Check a run for holdout leaks and changed tests',
    examples: ['audit latest'],
    exits: { 0: 'no errors', 1: 'errors, or the key of the holdout is missing' },
    options: () => looking('print findings as JSON'),
    load: async () => (await import('./audit.ts')).auditCommand,
  },
];
