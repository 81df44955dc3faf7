/** Writes what the loop has decided: the start of an execution, its commit, the end of the run. */
import type { NextExecution, RunEnd, RunEnding, Step, StepFacts, Stop } from '../core/decision.ts';
import { viewOf } from '../core/fork.ts';
import { isAgentType } from '../core/graph.ts';
import type { Context, Outcome } from '../core/outcome.ts';
import type { RunState } from '../core/records/checkpoint.ts';
import type {
  BranchStoppedFacts,
  CommittedFacts,
  LineFacts,
  StoppedRecord,
} from '../core/records/journal.ts';
import { layout, nodeLayout } from '../core/records/layout.ts';
import { interruptedBy, StopByRequest } from '../core/records/stop-request.ts';
import { failing, recordedEnd } from '../core/step.ts';
import { workWords } from '../core/work-words.ts';
import { head } from '../platform/files/read.ts';
import { hashArtifacts, keepJson } from '../run/artifacts.ts';
import { closeVisit, openVisit } from '../run/node-directory.ts';
import { workHash } from '../run/recorded-executions.ts';
import { stateBeforeLine, statusOf, viewRecordsOf } from '../run/view-records.ts';
import type { Snapshot } from '../workspace/snapshot.ts';
import { type EventWriter, eventWriter, viewPlaces, visitOf } from './event-log.ts';
import type { Execution, ExecutionEnd, Run } from './run-context.ts';
import type { RunProgress } from './run-lane.ts';
import { threadRecord } from './threads.ts';

/** Bytes of a failure's summary in the log. */
const mostLogged = 2200;

/** An execution that has ended, and what was decided of it. */
export type Decided = {
  readonly execution: Execution;
  readonly executed: Extract<ExecutionEnd, { kind: 'ended' }>;
  readonly before: { readonly state: RunState; readonly snapshot: Snapshot };
  readonly tookMs: number;
  readonly facts: StepFacts;
  readonly step: Step;
};

/** Of branches: milliseconds of interrupted executions of their next nodes. */
export type CutBranches = Readonly<NonNullable<StoppedRecord['branches']>>;

/** The records of a run: the journal first, then its views. */
export interface RunRecords {
  readonly writer: EventWriter;
  /** Milliseconds of the run so far, over all resumes. */
  elapsed(): number;
  /** Prepares the node's directory and records the start. */
  begin(next: NextExecution, progress: RunProgress): Promise<Execution>;
  /** After all processes of the execution have ended: closes the node's directory, and writes its `status.json`. */
  close(execution: Execution, outcome: Outcome): Promise<void>;
  /** Commits the execution onto the run's state, then writes its records of the views. Returns the new state. */
  commit(decided: Decided, state: RunState): Promise<RunState>;
  /** Commits the end or the suspension of a branch without a finished execution. */
  stopBranch(line: Omit<BranchStoppedFacts, 'type' | 'at'>, state: RunState): Promise<RunState>;
  end(state: RunState, stop: Stop, cut?: CutBranches): Promise<RunEnd>;
}

export function openRecords(run: Run): RunRecords {
  const { clock, costs, journal } = run;
  const began = clock.monotonic();
  const elapsed = () => run.state.elapsed_ms + (clock.monotonic() - began);
  const writer = eventWriter(run);
  const places = viewPlaces(run);
  const { branch } = run;

  const committed = (line: CommittedFacts, before: RunState, log = () => {}): Promise<RunState> => {
    const records = viewRecordsOf(line, stateBeforeLine(before, line), places);
    return journal.commit(line, before, (at) => {
      log();
      writer.append(records, at);
    });
  };

  return {
    writer,
    elapsed,
    async begin(next, progress) {
      const { node, visit } = next;
      const nodeDir = layout(run.runDir).node(node.id);
      const earlierVisits = await openVisit(nodeDir, visit, run.marker);
      // Not while another line is committed: the views have what lines give in their order.
      await progress.inTurn(async () => {
        const line = beganLine(next, viewOf(progress.state, branch).context, branch, clock.now());
        journal.note(line);
        writer.append(viewRecordsOf(line, stateBeforeLine(progress.state, line), places));
      });
      const { context: contextBefore } = viewOf(progress.state, branch);
      return { ...next, nodeDir, earlierVisits, began: clock.monotonic(), contextBefore };
    },
    async close({ kind, nodeDir, visit, earlierVisits }, outcome) {
      if (kind.executable) await closeVisit(nodeDir, visit, run.marker, earlierVisits);
      await keepJson(nodeLayout(nodeDir).status, statusOf(outcome));
    },
    async commit(decided, stateBefore) {
      const { execution, executed, before, tookMs, step } = decided;
      const { kind, nodeDir, node, visit, contextBefore } = execution;
      const isReplayable = kind.executable && !isAgentType(kind.type);
      const line = visitOf(kind.type, step, before, {
        ...executed,
        thread: await threadRecord(run, executed.thread),
        contextBefore,
        branch,
        tookMs,
        elapsedMs: Math.round(elapsed()),
        spent: costs.run(),
        asked: isReplayable ? workHash(node, run.variables, kind.own?.sha256) : undefined,
        artifacts: await hashArtifacts(nodeDir),
      });
      run.flusher?.add(nodeDir, visit);
      // What the next node reads of a failure, and what an ended run has to show, must survive a power cut.
      if (step.change.now.last_outcome.status === 'fail' || step.decision.do !== 'run')
        await run.flusher?.now();
      // Events must not report an execution that a resume would repeat.
      return committed(line, stateBefore, () => logEnd(run, decided));
    },
    async stopBranch(facts, stateBefore) {
      const line = { type: 'BranchStopped', at: clock.now().toISOString(), ...facts } as const;
      await run.flusher?.now();
      return committed(line, stateBefore);
    },
    async end(at, stop, branches = {}) {
      const { line, end } = stopOf(stop, run);
      // The line of its last execution has the end already.
      if (at.ended !== null) return { state: at, ...end };
      const now = { at: clock.now().toISOString(), elapsed_ms: Math.round(elapsed()), spent: costs.run() };
      const cut = at.cut_ms === undefined ? {} : { cut_ms: at.cut_ms };
      await run.flusher?.now();
      const ofBranches = Object.keys(branches).length === 0 ? {} : { branches };
      const stopped = { type: 'Stopped', ...now, ...cut, ...line, ...ofBranches } as const;
      return { state: await committed(stopped, at), ...end };
    },
  };
}

function beganLine(
  { node, kind, visit }: NextExecution,
  context: Context,
  branch: string | undefined,
  at: Date,
): Extract<LineFacts, { type: 'Began' }> {
  const does = workWords(node, context);
  return {
    ...({ type: 'Began', at: at.toISOString(), node: node.id, node_type: kind.type, visit } as const),
    ...(branch === undefined ? {} : { branch }),
    ...(does === '' ? {} : { does }),
  };
}

function logEnd({ log }: Run, { execution, facts, step }: Decided): void {
  const node = execution.node.id;
  if (step.change.now.last_outcome.status === 'fail') {
    const summary = head(String(facts.feedback['last_failure.summary'] ?? ''), mostLogged);
    log('debug', 'failure detail', { node, summary });
  }
  if (step.route === undefined) return;
  const { edge, how } = step.route;
  log('debug', 'route selected', { from: node, to: edge?.to ?? '', how });
}

/** What the journal says of a run that stops, and how it has ended for its caller. */
function stopOf(
  stop: Stop,
  run: Run,
): {
  readonly line: Pick<StoppedRecord, 'status' | 'ended' | 'parked' | 'question' | 'signal' | 'request'>;
  readonly end: Omit<RunEnd, 'state'>;
} {
  const ends = (ending: RunEnding, more: Partial<RunEnd> = {}) => ({ ending, interrupted: false, ...more });
  switch (stop.do) {
    case 'finish': {
      const { ending } = stop;
      return { line: { status: 'failed', ended: recordedEnd(ending) }, end: ends(ending) };
    }
    case 'suspend': {
      const { parked, question } = stop;
      const ending = { ...failing(`${parked.node}: ${parked.reason}`), code: 75 };
      const asked = question === undefined ? {} : { question };
      return {
        line: { status: parked.status, ended: null, parked, ...asked },
        end: ends(ending, { parked }),
      };
    }
    case 'interrupt': {
      const by = interruption(run);
      const ending = { ...failing(`interrupted by ${interruptedBy(by)}`), code: 130 };
      return {
        line: { status: 'interrupted', ended: null, ...by },
        end: ends(ending, { interrupted: true }),
      };
    }
  }
}

function interruption({ signal, stopAsked }: Run): Pick<StoppedRecord, 'signal' | 'request'> {
  const asked = signal.aborted ? undefined : stopAsked?.();
  const { reason } = signal;
  const request = asked ?? (reason instanceof StopByRequest ? reason.request : undefined);
  if (request === undefined) return { signal: String(reason) };
  const { by, at, after_node, why } = request;
  return { request: { by, at, after_node, why } };
}
