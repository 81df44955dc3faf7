import type { Refusal } from '../engine/casting.ts';
import type { Called } from '../engine/result.ts';
import type { Log, Watcher } from '../engine/watch.ts';
import type { RunResult } from '../model/result.ts';
import type { SandboxWord } from '../policy/confinement.ts';
import type { Clock } from '../system/clock.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What the wiring needs from the process that calls it. */
export type Doors = {
  readonly cwd: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly watcher: Watcher;
  readonly log: Log;
  readonly called?: Called;
  /** Told, once there is a run, the command that goes on with it, for the case that we are ended before we can say so. */
  readonly parting?: (command: string) => void;
  /** Given what is to be done right before the process ends, when all is told; without it, that is done at once. */
  readonly atLast?: (work: () => Promise<void>) => void;
};

/** What a person asked for with flags; only what was given. */
export type RunFlags = {
  readonly workdir?: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly agent?: string;
  readonly model?: string;
  readonly effort?: string;
  /** Sampling temperature that the model is asked with. */
  readonly temperature?: number;
  readonly script?: string;
  readonly envPass: readonly string[];
  readonly allowDirty: boolean;
  readonly acceptChanges: boolean;
  /** Go on with the texts that the run keeps, whatever their files say by now. */
  readonly keepsTexts?: boolean;
  readonly maxSteps?: number;
  readonly maxVisits?: number;
  readonly maxWallMs?: number;
  readonly maxCostUsd?: number;
  readonly maxTokens?: number;
  /** Whether a cost that nobody knows passes under a limit. */
  readonly unknownCost?: 'stop' | 'allow';
  readonly parkAfterMs?: number;
  readonly parkUnsaid?: boolean;
  /** A file of prices, as it was typed. */
  readonly prices?: string;
  /** Wait for as long as the run is parked for a quota, and go on. */
  readonly wait?: boolean;
  /** Go on with a parked run before its time. */
  readonly now?: boolean;
  /** The commit of the workdir to begin with, in place of its HEAD. */
  readonly base?: string;
  /** Carry out work orders again that commits of the workdir say they carried out. */
  readonly redo?: boolean;
  /** Milliseconds that each command of a verification and each model call may take. */
  readonly commandTimeoutMs?: number;
  /** Absolute folders in the workdir that are not copied. */
  readonly exclude?: readonly string[];
  /** Go on although the run's owner is stopped or out of sight, without waiting until it has been silent for long. */
  readonly takeOver?: boolean;
  /** `--sandbox`: how stages are confined where neither node nor pipeline says. */
  readonly sandbox?: SandboxWord;
  /** A folder that what judges is taken from, as it was typed. */
  readonly holdout?: string;
  /** Let agents answer themselves where a replay leaves its record. */
  readonly live?: boolean;
  /** Files that the run keeps in its `inputs/`, by name. */
  readonly keep?: Readonly<Record<string, string>>;
};

/** What a run may spend, reach and wait for: every command that begins one has these flags. */
export type Bounds = Pick<
  RunFlags,
  'maxCostUsd' | 'maxTokens' | 'unknownCost' | 'prices' | 'parkAfterMs' | 'sandbox' | 'wait' | 'now'
>;

export type { Refusal };
export type Finished = { readonly result: RunResult; readonly code: number };

/** A refusal of one sentence. */
export const refused = (code: string, message: string, fix?: string): Refusal => ({
  problems: [{ code, severity: 'error', message, ...(fix === undefined ? {} : { fix }) }],
});

/** Name of the agent script in a run's `inputs/`. */
export const keptScript = 'agent-script.json';
