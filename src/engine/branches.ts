/** Runs the branches of an open fork side by side, each as a lane, until all have ended or none can continue. */
import { variablesGiven } from '../core/calls.ts';
import type { Stop } from '../core/decision.ts';
import { branchesOf, cursorOf, hasOpenBranches, snapshotNow, suspensions, viewOf } from '../core/fork.ts';
import type { Graph } from '../core/graph.ts';
import { isJoinDecided, type JoinRules, joinRulesIn } from '../core/join.ts';
import { type LaneBounds, laneBounds } from '../core/lane-bounds.ts';
import { endsByTime, type SuspendedRun } from '../core/outcome.ts';
import type { Cursor, Fork } from '../core/records/fork.ts';
import type { BranchStoppedFacts } from '../core/records/journal.ts';
import { defaultParallel } from '../core/settings/join.ts';
import { failing } from '../core/step.ts';
import { withGoal } from '../core/variables.ts';
import { isDisks, isFull } from '../platform/files/disk-error.ts';
import { StoreTrouble, WorkspaceError } from '../platform/files/workspace-error.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { answerPlace, onlyAnswers } from './answer-place.ts';
import { type BranchPlace, type BranchPlaces, branchPlaces } from './branch-places.ts';
import { canContinue, isEarly, untilOneCan } from './branch-wake.ts';
import { openRecords } from './commit.ts';
import type { Run } from './run-context.ts';
import { type LaneEnd, type RunLane, stateOf } from './run-lane.ts';

/** Executes the nodes of one branch. */
type RunEach = (lane: RunLane) => Promise<LaneEnd>;

/** Runs the open fork of `outer`. Its `snapshot` is what the workspace is then. */
export async function runBranches(outer: RunLane, snapshot: Snapshot, runLane: RunEach): Promise<LaneEnd> {
  const { fork } = stateOf(outer);
  if (fork === undefined) throw new Error('Internal: no fork is open');
  const places = fork.call === true ? inPlace(outer, snapshot) : branchPlaces(outer.run, fork);
  try {
    return await new OpenBranches(outer, fork, places, snapshot, runLane).run();
  } finally {
    await places.close();
  }
}

/** A called pipeline works where its caller does. */
function inPlace({ run: { workspace, snapshots } }: RunLane, snapshot: Snapshot): BranchPlaces {
  return {
    open: async () => ({ workspace, snapshots, snapshot, release: async () => {} }),
    close: async () => {},
  };
}

/** A called pipeline has the variables that the call gave it, and its own goal. */
function inCall(child: Graph, cursor: Cursor): Pick<Run, 'graph' | 'variables'> {
  const variables = variablesGiven(cursor);
  return { graph: withGoal(child, variables), variables };
}

type Settled = { readonly id: string } & ({ readonly end: LaneEnd } | { readonly error: unknown });

type Running = { readonly settled: Promise<Settled>; readonly cancel: AbortController };

class OpenBranches {
  readonly #outer: RunLane;
  readonly #places: BranchPlaces;
  readonly #runLane: RunEach;
  readonly #rules: JoinRules;
  readonly #most: number;
  readonly #running = new Map<string, Running>();
  #waiting: string[];
  readonly #suspended = new Set<string>();
  /** Stops all lanes at once. */
  readonly #halt = new AbortController();
  #stop: Stop | undefined;
  readonly #cutBranches: { [id: string]: { readonly cut_ms: number } } = {};
  /** Why those that have not ended are cancelled. */
  #decided: string | undefined;
  #snapshot: Snapshot;
  #error: { readonly is: unknown } | undefined;

  constructor(outer: RunLane, fork: Fork, places: BranchPlaces, snapshot: Snapshot, runLane: RunEach) {
    const { graph } = outer.run;
    this.#outer = outer;
    this.#runLane = runLane;
    this.#places = places;
    this.#rules = joinRulesIn(graph, fork);
    this.#most = graph.nodes.get(fork.node)?.settings.max_parallel ?? defaultParallel;
    this.#waiting = Object.keys(fork.branches).filter((id) => fork.branches[id]?.ended === undefined);
    this.#snapshot = snapshot;
  }

  async run(): Promise<LaneEnd> {
    await this.#cancelIfDecided();
    for (;;) {
      this.#wake();
      this.#start();
      if (this.#running.size === 0) break;
      const settled = await this.#next();
      if (settled !== undefined) await this.#settle(settled);
    }
    if (this.#error !== undefined) throw this.#error.is;
    const at = { snapshot: this.#snapshot, cutBranches: this.#cutBranches };
    if (this.#stop !== undefined) return { ...at, stop: this.#stop };
    const state = stateOf(this.#outer);
    if (!hasOpenBranches(state)) return { snapshot: this.#snapshot };
    if (this.#isOver || (this.#beginsNone && this.#waiting.length > 0))
      return { ...at, stop: { do: 'interrupt' } };
    if (this.#waiting.length > 0 && this.#suspended.size === 0) return { ...at, waits: true };
    return { ...at, stop: { do: 'suspend', parked: joint(suspensions(state)) }, within: true };
  }

  get #isOver(): boolean {
    return this.#halt.signal.aborted || this.#outer.run.signal.aborted;
  }

  /** A request or a limit stops the run: executions that have begun finish. */
  get #beginsNone(): boolean {
    return this.#outer.run.stopAsked?.() !== undefined || this.#hasLimit;
  }

  get #hasLimit(): boolean {
    const isOwn = this.#stop?.do === 'finish' && this.#stop.ending.orderly === true;
    return isOwn || this.#outer.run.limitReached?.() === true;
  }

  /** Those whose answer has come, or whose time, wait no longer. */
  #wake(): void {
    if (this.#isOver || this.#beginsNone) return;
    for (const id of this.#suspended) {
      if (!canContinue(this.#outer.run, viewOf(this.#outer.progress.state, id))) continue;
      this.#suspended.delete(id);
      this.#waiting.push(id);
    }
  }

  #start(): void {
    while (this.#running.size < this.#most && !this.#isOver && !this.#beginsNone) {
      const { run, progress } = this.#outer;
      const at = this.#waiting.findIndex((one) => !isEarly(run, progress.state, one));
      const [id] = at < 0 ? [] : this.#waiting.splice(at, 1);
      if (id === undefined) return;
      const cancel = new AbortController();
      const settled = this.#runBranch(id, cancel.signal).then(
        (end): Settled => ({ id, end }),
        (error: unknown): Settled => ({ id, error }),
      );
      this.#running.set(id, { settled, cancel });
    }
  }

  async #runBranch(id: string, cancelled: AbortSignal): Promise<LaneEnd> {
    const { run, progress, records } = this.#outer;
    const cursor = cursorOf(progress.state, id);
    const fork = stateOf(this.#outer).fork;
    if (fork === undefined) throw new Error('Internal: no fork is open');
    const lane = laneBounds(run.graph, fork, id, cursor);
    const place = await this.#placeOf(id, lane, snapshotNow(cursor));
    const state = { ...viewOf(progress.state, id), elapsed_ms: records.elapsed() };
    const its = {
      ...run,
      ...{ branch: id, state, parkedBefore: cursor.parked },
      ...(lane.call === true ? inCall(lane.graph, cursor) : { graph: lane.graph }),
      ...{ workspace: place.workspace, snapshots: place.snapshots, snapshot: place.snapshot },
      ...(place.files === undefined ? {} : { files: place.files }),
      signal: AbortSignal.any([run.signal, this.#halt.signal, cancelled]),
      limitReached: () => this.#hasLimit,
    };
    try {
      return await this.#runLane({ run: its, progress, records: openRecords(its), lane });
    } finally {
      await place.release();
    }
  }

  /** A branch that only answers needs no checkout. */
  async #placeOf(id: string, lane: LaneBounds, snapshot: string): Promise<BranchPlace> {
    const { run } = this.#outer;
    if (lane.call === true || !onlyAnswers(run, lane.graph, lane)) return this.#places.open(id, { snapshot });
    const isBase = snapshot === this.#snapshot.id;
    return answerPlace(run, isBase ? this.#snapshot : await run.snapshots.load(snapshot));
  }

  /** The next lane that has settled; undefined when a suspended one can continue. */
  async #next(): Promise<Settled | undefined> {
    const over = new AbortController();
    const running = [...this.#running.values()].map(({ settled }) => settled);
    const { run, progress } = this.#outer;
    const views = () => [...this.#suspended].map((id) => viewOf(progress.state, id));
    // With all places taken it would have to wait in any case.
    const mayWake = this.#suspended.size > 0 && this.#running.size < this.#most && !this.#beginsNone;
    const woken = mayWake ? [untilOneCan(run, views, over.signal)] : [];
    if (this.#waiting.length > 0 && this.#running.size < this.#most) woken.push(progress.next());
    try {
      return await Promise.race([...running, ...woken]);
    } finally {
      over.abort();
    }
  }

  async #settle(settled: Settled): Promise<void> {
    const { id } = settled;
    this.#running.delete(id);
    if ('error' in settled) return this.#fail(id, settled.error);
    const { stop, within, waits, cutMs, cutBranches, snapshot } = settled.end;
    if (stateOf(this.#outer).fork?.call === true) this.#snapshot = snapshot;
    const cut = cutMs === undefined ? {} : { cut_ms: cutMs };
    const isRuns = stop?.do === 'finish' && stop.ending.ofBranch !== true;
    if (waits === true) {
      if (this.#decided === undefined) this.#waiting.push(id);
      else await this.#cancelled(id);
    } else if (stop === undefined) await this.#cancelIfDecided();
    else if (isRuns || (stop.do === 'interrupt' && this.#decided === undefined)) {
      if (cutMs !== undefined) this.#cutBranches[id] = { cut_ms: cutMs };
      Object.assign(this.#cutBranches, cutBranches);
      this.#halts(stop);
    } else if (this.#decided !== undefined) await this.#cancelled(id);
    else if (stop.do === 'suspend') {
      this.#suspended.add(id);
      const { parked, question } = stop;
      const { status, reason } = parked;
      const asked = question === undefined ? {} : { question };
      if (within !== true) await this.#record({ branch: id, status, reason, parked, ...asked, ...cut });
    } else if (stop.do === 'finish') {
      const { reason } = stop.ending;
      await this.#record({ branch: id, status: 'failed', reason, class: 'budget' });
      await this.#cancelIfDecided();
    }
  }

  /** An end of the run counts more than an interruption. An interruption between executions lets those of other branches finish, and
   *  so does a limit: their answers may be paid for. */
  #halts(stop: Stop): void {
    if (this.#stop === undefined || (this.#stop.do !== 'finish' && stop.do === 'finish')) this.#stop = stop;
    const isOrderly =
      stop.do === 'finish'
        ? stop.ending.orderly === true
        : stop.do === 'interrupt' && !this.#outer.run.signal.aborted && this.#beginsNone;
    if (!isOrderly) this.#halt.abort();
  }

  /** A folder that cannot be made stops the run like one that cannot be recorded. */
  #fail(id: string, error: unknown): void {
    if (error instanceof WorkspaceError && !isFull(error)) {
      const disk = isDisks(error) || error instanceof StoreTrouble;
      this.#halts({ do: 'finish', ending: failing(`${id}: ${error.message}`, disk) });
      return;
    }
    this.#error ??= { is: error };
    this.#halt.abort();
  }

  async #cancelIfDecided(): Promise<void> {
    const fork = stateOf(this.#outer).fork;
    if (fork === undefined || fork.call === true || this.#decided !== undefined) return;
    const ends = Object.values(fork.branches).map(({ ended }) => ended);
    if (!isJoinDecided(this.#rules, ends)) return;
    const { policy, onFailure } = this.#rules;
    const byFailure = onFailure === 'fail_fast' && ends.some((end) => end?.ok === false);
    const why = byFailure ? 'error_policy=fail_fast' : `join_policy=${policy}`;
    this.#decided = `the other branches have decided the join (${why})`;
    for (const { cancel } of this.#running.values()) cancel.abort();
    const idle = [...this.#waiting, ...this.#suspended];
    this.#waiting = [];
    this.#suspended.clear();
    for (const id of idle) await this.#cancelled(id);
  }

  /** With it end the branches that it contains. */
  async #cancelled(id: string): Promise<void> {
    const within = branchesOf(cursorOf(this.#outer.progress.state, id))
      .filter(({ cursor }) => cursor.ended === undefined)
      .map((inner) => inner.id);
    for (const branch of [...within.reverse(), id])
      await this.#record({ branch, status: 'cancelled', reason: this.#decided ?? '' });
  }

  #record(line: Omit<BranchStoppedFacts, 'type' | 'at'>): Promise<void> {
    const { progress, records } = this.#outer;
    return progress.inTurn(async () => {
      progress.state = await records.stopBranch(line, progress.state);
    });
  }
}

/** One suspension for all: that which ends first by itself, else the first. */
function joint(all: readonly SuspendedRun[]): SuspendedRun {
  const timed = all
    .filter(({ status, wake_at }) => endsByTime(status) && wake_at !== null)
    .sort((a, b) => Date.parse(a.wake_at ?? '') - Date.parse(b.wake_at ?? ''));
  const [first = all[0]] = timed;
  if (first === undefined) throw new Error('Internal: no branch is suspended');
  const others = all.filter((one) => one !== first).map(({ node, reason }) => `; ${node}: ${reason}`);
  return { ...first, reason: `${first.reason}${others.join('')}` };
}
