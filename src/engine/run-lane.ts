/** What executes nodes one after another: the run itself, or a branch; and the state that all of them share. */
import type { Stop } from '../core/decision.ts';
import { viewOf } from '../core/fork.ts';
import type { LaneBounds } from '../core/lane-bounds.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import type { CutBranches, RunRecords } from './commit.ts';
import type { Run } from './run-context.ts';

export type RunLane = {
  /** In a branch with its graph, its workspace and its signal. */
  readonly run: Run;
  readonly progress: RunProgress;
  readonly records: RunRecords;
  /** Of a branch. */
  readonly lane?: LaneBounds;
};

/** How a lane ends. */
export type LaneEnd = {
  /** Undefined for a branch that has ended with a committed execution. */
  readonly stop?: Stop;
  /** All branches of an open fork in it are suspended, or have ended. */
  readonly within?: true;
  /** Of a replay: the branch, or all open ones in the lane, wait for other branches. */
  readonly waits?: true;
  /** Milliseconds of interrupted executions: of the next node, and of branches in the lane. */
  readonly cutMs?: number;
  readonly cutBranches?: CutBranches;
  readonly snapshot: Snapshot;
};

/** The state of a run, which its lanes change one after another: each commits onto the state that the one before has left. */
export class RunProgress {
  #state: RunState;
  #last: Promise<unknown> = Promise.resolve();
  #onNext: (() => void)[] = [];

  constructor(state: RunState) {
    this.#state = state;
  }

  /** After the last committed line. */
  get state(): RunState {
    return this.#state;
  }

  set state(state: RunState) {
    this.#state = state;
    for (const resolve of this.#onNext.splice(0)) resolve();
  }

  /** Settles when the next line is committed. */
  next(): Promise<undefined> {
    return new Promise((resolve) => {
      this.#onNext.push(() => resolve(undefined));
    });
  }

  /** Acts once all have ended that were begun before. */
  inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act);
    this.#last = done.catch(() => {});
    return done;
  }
}

/** The state as the lane sees it. What suspended it does not count any more. */
export function stateOf({ run: { branch }, progress }: Pick<RunLane, 'run' | 'progress'>): RunState {
  if (branch === undefined) return progress.state;
  const { parked: _, ...state } = viewOf(progress.state, branch);
  return state;
}
