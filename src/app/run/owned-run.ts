/** A run whose lock this process holds. Types only. */
import type { Caps } from '../../core/budget/limits.ts';
import type { Graph } from '../../core/graph.ts';
import type { Manifest } from '../../core/records/manifest.ts';
import type { RunResult } from '../../core/records/result.ts';
import type { Texts } from '../../engine/run-context.ts';
import type { SealedHoldout } from '../../holdout/mount.ts';
import type { Closing } from '../../run/journal.ts';
import type { Lock } from '../../run/lock.ts';
import type { AgentAssignment } from '../resolve-agents.ts';
import type { Host, RunFlags } from '../types.ts';
import type { OpenSnapshots } from './restore-workspace.ts';
import type { ResumeChange } from './resume-changes.ts';
import type { MadeRun } from './run-directory.ts';
import type { RunStanding } from './run-state.ts';

export type OwnedRun = {
  readonly graph: Graph;
  readonly runDir: string;
  readonly given: {
    readonly casting: AgentAssignment;
    readonly inputs: Texts;
    readonly caps: Caps;
    readonly resumed: boolean;
    /** The state of a run that this process has just created. */
    readonly made?: MadeRun | undefined;
    /** This process has waited out a suspension of the run. */
    readonly waited?: boolean;
    readonly change?: ResumeChange;
  };
  readonly flags: RunFlags;
  readonly host: Host;
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

/** The state of a run as this process found it. `manifest` has the changes of this resume. */
export type Begun = {
  readonly stands: RunStanding;
  readonly taken: OpenSnapshots | undefined;
  readonly manifest: Manifest;
  readonly resumed: boolean;
};
