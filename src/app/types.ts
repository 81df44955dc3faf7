/** What the caller of a run hands in, and what it gets back. */
import type { Clock } from '../core/contracts/clock.ts';
import type { NodeModule } from '../core/contracts/own-kind.ts';
import type { Environment } from '../core/contracts/process.ts';
import type { Log, Watcher } from '../core/contracts/watcher.ts';
import type { Question } from '../core/records/question.ts';
import type { RunResult } from '../core/records/result.ts';
import type { LimitName } from '../core/settings/limits.ts';
import type { SettingFlags } from '../core/settings/run.ts';
import type { OwnSteps } from '../engine/own-step.ts';
import type { Called } from '../run/next-command.ts';
import type { RunLeft } from './run/notify.ts';
import type { SetAttribute } from './run/set-attributes.ts';

/** The process that executes a run, as the run sees it. */
export type Host = {
  readonly cwd: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly watcher: Watcher;
  readonly log: Log;
  readonly called?: Called;
  /** Called with the resume command as soon as the run exists, for the case that the process is killed before it can print it. */
  readonly parting?: (command: string) => void;
  /** Called when nothing refuses the run any more: right before its first node, or when it begins to wait for its time. */
  readonly onBegin?: (runDir: string) => void;
  /** Asks the person at this process. Undefined: there is no answer, and the run stays suspended. The signal fires when the question is
   *  answered elsewhere. */
  readonly ask?: (
    question: Question,
    signal: AbortSignal,
  ) => Promise<{ readonly choice?: string; readonly text?: string } | undefined>;
  /** Sends a notice that this process leaves a run that it has executed; never rejects. */
  readonly notify?: (runDir: string, left: RunLeft) => Promise<void>;
  /** Registers work for right before the process ends, after all output; without it, the work is done at once. */
  readonly atLast?: (work: () => Promise<void>) => void;
  readonly ownSteps?: OwnSteps | undefined;
  /** Own node types of this program, besides those of the project: for the resume, fork or replay of a run that has them. */
  readonly kinds?: readonly NodeModule[];
};

/** The place of a new run: the folder `runsDir/runId`. Relative paths are relative to the host's `cwd`. */
export type Where = { readonly runsDir: string; readonly runId: string };

/** The flags that were set: settings by their names, and how this process works. Durations are milliseconds, paths as typed. */
export type RunFlags = SettingFlags & {
  /** Whether the run waits for what passes at an unknown time. Default true. */
  readonly park_passing?: boolean;
  readonly vars: Readonly<Record<string, string>>;
  /** Sampling temperature of the model. */
  readonly temperature?: number;
  readonly allowDirty: boolean;
  readonly acceptChanges: boolean;
  /** Resume with the run's stored texts, and do not compare their files. */
  readonly keepsTexts?: boolean;
  /** Wait while the run is suspended for a quota or an outage, then resume it. */
  readonly wait?: boolean;
  /** Resume a suspended run before its time. */
  readonly now?: boolean;
  /** The commit of the workdir to start with, instead of its HEAD. */
  readonly base?: string;
  /** Begin with exactly that commit: changes of the working tree are left out, not refused. */
  readonly exact?: boolean;
  /** Id of a run of the same runs directory whose sealed scenarios this one gets. */
  readonly holdout_of?: string;
  /** Execute work orders again that commits of the workdir have already executed. */
  readonly redo?: boolean;
  /** Absolute folders in the workdir that are not copied. */
  readonly exclude?: readonly string[];
  /** Resume although the run's owner is stopped or not visible, without waiting until its heartbeat is overdue. */
  readonly takeOver?: boolean;
  /** Let agents answer where a replay has no recorded answer. */
  readonly live?: boolean;
  /** Attributes of nodes that a fork sets. */
  readonly set?: readonly SetAttribute[];
  /** A note for the first agent of a fork. */
  readonly note?: string;
  /** Texts that the run keeps, by name. */
  readonly keep?: Readonly<Record<string, string>>;
};

/** Flags of every command that starts a run: budget, sandbox, waiting. */
export type Bounds = Pick<RunFlags, LimitName | 'prices' | 'sandbox' | 'env_pass' | 'wait' | 'now'>;

export type Finished = { readonly result: RunResult; readonly code: number };

/** Name of the agent script among the texts that a run keeps. */
export const keptScript = 'agent-script.json';
