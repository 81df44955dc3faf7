/** A run whose lock this process holds, and how it is opened part by part. */

import type { Refusal } from '../../core/diagnostic.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { RunResult } from '../../core/records/result.ts';
import type { SealedHoldout } from '../../holdout/mount.ts';
import type { Closing } from '../../run/journal.ts';
import type { Lock } from '../../run/lock.ts';
import type { RunReader, StoredRun } from '../../run/open-run.ts';
import type { Finished, RunFlags } from '../types.ts';
import type { NewRun } from './create.ts';
import type { ResumeChange } from './resume-changes.ts';
import type { WatchedHost } from './stop-watch.ts';
import type { RunTerms } from './terms.ts';

/** A run that continues from its records, with the changes of this resume. */
export type ResumedRun = {
  readonly runDir: string;
  readonly terms: RunTerms;
  readonly change: ResumeChange;
  /** This process has waited out a suspension of the run. */
  readonly waited: boolean;
};

export type OwnRun = {
  readonly runDir: string;
  readonly task: NewRun | ResumedRun;
  readonly reader: RunReader;
  readonly flags: RunFlags;
  readonly host: WatchedHost;
  readonly lock: Lock;
  readonly signal: AbortSignal;
  /** What is open, in the order of opening; closed in reverse. */
  readonly open: Closing[];
  /** The command that resumes the run. */
  again?: string;
  /** The holdout, until its files are back in the workspace. */
  sealed?: SealedHoldout | undefined;
  ending?: RunResult;
};

/** With its records. */
export type LoadedRun = OwnRun & {
  readonly recorded: StoredRun;
  /** With the changes of this resume. */
  readonly manifest: Manifest;
  readonly resumed: boolean;
};

/** A part of a run: opens something with what the earlier parts gave; or refuses the run, or finds that it has ended. */
export type RunPart<Needs, Gives extends object> = (
  run: Needs,
) => Promise<{ readonly value: Gives; readonly close?: (() => unknown) | undefined } | Refusal | Finished>;

/** Parts in the order in which they are opened. The compiler checks that what a part needs is given by an earlier one. */
export type Opening<Run extends OwnRun> = {
  with<Gives extends object>(part: RunPart<Run, Gives>): Opening<Run & Gives>;
  /** Opens all parts: each adds its value to the run. After a refusal or an error, the run has what was opened until then. */
  open(run: OwnRun): Promise<Run | Refusal | Finished>;
};

/** An opening that has no part yet. */
export const opening = <Run extends OwnRun>(parts: readonly RunPart<never, object>[] = []): Opening<Run> => ({
  with: (part) => opening([...parts, part]),
  async open(run) {
    for (const part of parts) {
      const opened = await part(run as never);
      if (!('value' in opened)) return opened;
      Object.assign(run, opened.value);
      const { close } = opened;
      if (close !== undefined) run.open.push({ close: async () => void (await close()) });
    }
    return run as Run;
  },
});
