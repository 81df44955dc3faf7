/** The commands of advice, and what they are made from: how a run stands, and how its user types it. Pure. */
import type { FailureClass, PausedWord } from './outcome.ts';
import type { EndCause } from './records/checkpoint.ts';

/** `continue`: the same run; `edit`: after a change of a file; `fork`: a new run from a checkpoint of it; `start`: the whole run anew;
 *  `look`: a command that shows more. */
export const actionKinds = ['continue', 'edit', 'fork', 'answer', 'deliver', 'start', 'look'] as const;

export type NextAction = {
  readonly kind: (typeof actionKinds)[number];
  /** What it does, and what has to be done before. */
  readonly words: string;
  /** To run unchanged, except for `TEXT` and the folder `DIR`, which the user writes. */
  readonly command: string;
  /** What has to be done before, as a comment behind the command. */
  readonly after?: string;
};

/** How a run stands. */
export type StoodRun = {
  readonly status:
    | 'running'
    | 'completed'
    | 'overridden'
    | 'failed'
    | 'interrupted'
    | 'crashed'
    | 'unreadable'
    | PausedWord;
  readonly reason: string;
  readonly cause: EndCause | undefined;
  /** `NODE` or `NODE@VISIT`; empty without a failure. */
  readonly failedNode: string;
  readonly failureClass?: FailureClass | undefined;
  /** The file, as the user typed it; undefined for one that comes with factory, so that its user does not edit it. */
  readonly pipeline: string | undefined;
  /** A replay without agents that diverged: a resume ends at the same place unless it has --live. */
  readonly offline: boolean;
  /** A failed run that has not reached an exit. */
  readonly resumable: boolean;
  /** The node whose scenarios all passed and are too weak. */
  readonly weakJudge?: string | undefined;
  /** Delivers the run although its judge is weak: undefined where more has failed. Asked only where it matters. */
  readonly delivery?: NextAction | undefined;
  /** A question was answered, and the run has not taken the answer yet. */
  readonly answered?: boolean;
  /** The latest execution of an agent up to the failure, `NODE@VISIT`; undefined without any. Asked only where it matters. */
  readonly agent?: () => string | undefined;
  /** The command that starts a run like it anew. Asked only where it matters. */
  readonly anew?: () => string | undefined;
  /** Where a file declares a node: `FILE:LINE`. */
  readonly placeOf?: (node: string) => string | undefined;
};

/** How the user types it: the program, and the run as a word of a command. */
export type TypedRun = { readonly program: string; readonly run: string };

/** Continues the run, with `flags`. */
export const resumeAction = (
  { program, run }: TypedRun,
  words: string,
  flags = '',
  after?: string,
): NextAction => ({
  kind: 'continue',
  words,
  command: [`${program} resume ${run}`, ...(flags === '' ? [] : [flags])].join(' '),
  ...(after === undefined ? {} : { after }),
});

/** A new run, for what this one and its forks keep; undefined where no command is known. */
export function startAnew({ anew }: StoodRun, words: string): NextAction | undefined {
  const command = anew?.();
  return command === undefined ? undefined : { kind: 'start', words, command };
}

/** Executes a node again in a fork; flags are added behind it. */
export const commandToFork = ({ program, run }: TypedRun, node: string): string =>
  `${program} fork ${run} --at ${node} --before`;

export const forkAction = (node: string, typed: TypedRun, words: string): NextAction => ({
  kind: 'fork',
  words,
  command: commandToFork(typed, node),
});
