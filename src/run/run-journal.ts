/** The journal of a run, `journal.jsonl`: reads the state of the run from it, and commits to it. */
import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { calleeIn, cursorToChange, hasBranch, viewOf } from '../core/fork.ts';
import { statusAtEnd } from '../core/overridden.ts';
import type { Checkpoint, JournalMark, RunState } from '../core/records/checkpoint.ts';
import type { Exchange } from '../core/records/exchange.ts';
import type { Fork } from '../core/records/fork.ts';
import type {
  BranchStoppedFacts,
  CommittedFacts,
  JournalLine,
  LineFacts,
  ResumedRecord,
  StoppedRecord,
  VisitFacts,
} from '../core/records/journal.ts';
import { layout } from '../core/records/layout.ts';
import { type CallRecord, journalVersion, type RunRecord } from '../core/records/visit.ts';
import { LineChain } from './chain.ts';
import { completedNodes, writeCheckpoint } from './checkpoint.ts';
import { type Visits, visitsAmong } from './evidence.ts';
import { type JournalOptions, openJournal } from './journal.ts';
import { type CountedLines, type MarkedLine, orPutBack } from './journal-lines.ts';
import type { JournalEnd } from './journal-read.ts';
import { type Unreadable, unreadableFile } from './unreadable.ts';
import { addRecord, stateAfter } from './visits.ts';

/** An execution that has begun. */
export type OpenExecution = Pick<
  Extract<JournalLine, { type: 'Began' }>,
  'at' | 'node' | 'node_type' | 'visit' | 'branch' | 'does'
>;

/** What the journal of a run says. */
export type RunHistory = {
  readonly ok: true;
  /** The state after the last line. */
  readonly checkpoint: Checkpoint;
  /** The start, the committed executions, and branches that stopped without one. */
  readonly records: readonly RunRecord[];
  readonly calls: readonly CallRecord[];
  /** Attempts of agents, also of executions that were not committed. */
  readonly exchanges: readonly Exchange[];
  /** How the run stopped after its last execution, if it did, and whether it was resumed since. */
  readonly last: RunRecord | StoppedRecord | ResumedRecord;
  /** Executions that have begun and were not committed. */
  readonly open: readonly OpenExecution[];
  /** Of the manifest that counts, as JSON with sorted keys. */
  readonly manifestSha256: string;
  /** Its lines. */
  readonly lines: readonly JournalLine[];
  /** The journal up to `last`, and all of it. */
  readonly committed: JournalMark;
  readonly whole: JournalMark;
  /** Of the last line. */
  readonly epoch: number;
  /** Numbers of the journal's lines that an owner wrote while a later one had the run. */
  readonly late: readonly number[];
};
export type ReadRun = RunHistory | (Unreadable & { readonly missing: boolean });

/** What the lines of the run's journal say. */
export function historyIn(runDir: string, lines: CountedLines | Unreadable): ReadRun {
  if ('why' in lines) return { ...lines, missing: false };
  return lines.marked.length === 0 ? noJournal(runDir) : historyOf(runDir, lines.marked, lines.late);
}

function noJournal(runDir: string): ReadRun {
  const { journal, checkpoint, manifest } = layout(runDir);
  const isEarlier = !existsSync(journal) && (existsSync(checkpoint) || existsSync(manifest));
  const { why } = isEarlier
    ? unreadableFile(
        `the run in ${runDir} was begun by an earlier version of factory: it has no ${basename(journal)}`,
        'use the version that began it, or start a new run',
      )
    : unreadableFile(`${journal} ${lackOf(journal)}`, orPutBack);
  return { ok: false, why, missing: true };
}

const lackOf = (journal: string): string => {
  const size = statSync(journal, { throwIfNoEntry: false })?.size;
  if (size === undefined) return 'is missing';
  return size === 0 ? 'is empty' : 'is cut: it has no whole line';
};

function historyOf(runDir: string, kept: readonly MarkedLine[], late: readonly number[]): ReadRun {
  const records: RunRecord[] = [];
  const calls: CallRecord[] = [];
  const exchanges: Exchange[] = [];
  let last: MarkedLine | undefined;
  let state: Changing | undefined;
  let open: readonly OpenExecution[] = [];
  let manifestSha256 = '';
  for (const one of kept) {
    const { line } = one;
    if (line.type === 'Began') open = [...open, line];
    else if (line.type === 'CallStarted' || line.type === 'CallTold' || line.type === 'CallEnded')
      calls.push(line);
    else if (line.type === 'Exchange') exchanges.push(line);
    else {
      if (line.type !== 'Stopped' && line.type !== 'Resumed') records.push(line);
      if ('manifest_sha256' in line) manifestSha256 = line.manifest_sha256;
      const stray = strayIn(state, line);
      if (stray !== undefined) return strayLine(runDir, line.seq, stray);
      state = stateWith(state, line);
      last = one;
      open = openAfter(open, line);
    }
  }
  const end = kept.at(-1);
  if (last === undefined || end === undefined || state === undefined)
    throw new Error('Internal: a journal without a beginning');
  state.completed_nodes = Object.keys(state.visits).sort();
  return {
    ok: true,
    checkpoint: state,
    records,
    calls,
    exchanges,
    last: last.line as RunHistory['last'],
    open,
    manifestSha256,
    lines: kept.map(({ line }) => line),
    committed: last.mark,
    whole: end.mark,
    epoch: end.line.epoch,
    late,
  };
}

/** What a line names that is not open: no run writes that. */
function strayIn(
  state: Changing | undefined,
  line: RunRecord | StoppedRecord | ResumedRecord,
): string | undefined {
  if (state === undefined || line.type === 'Start' || line.type === 'Resumed') return undefined;
  const branches = line.type === 'Stopped' ? Object.keys(line.branches ?? {}) : [line.branch ?? []].flat();
  const branch = branches.find((id) => !hasBranch(state, id));
  if (branch !== undefined) return `the branch ${JSON.stringify(branch)}`;
  if (line.type !== 'Visit' || line.joined === undefined) return undefined;
  const isOpen = viewOf(state, line.branch).fork?.node === line.joined;
  return isOpen ? undefined : `branches of ${JSON.stringify(line.joined)}`;
}

function strayLine(runDir: string, seq: number, what: string): ReadRun {
  const { journal } = layout(runDir);
  const { why } = unreadableFile(
    `${journal} was changed: record ${seq} names ${what}, not open there`,
    orPutBack,
  );
  return { ok: false, why, missing: false };
}

/** What lines near the end of a journal say, with a beginning before the first one that says nothing. */
export function historyOfEnd(runDir: string, lines: readonly MarkedLine[]): RunHistory | undefined {
  const [first] = lines;
  if (first === undefined) return undefined;
  const { schema_version, run_id, epoch, seq, at } = first.line;
  const nothing = { next_node: '', context: {}, origins: {}, snapshot: '', manifest_sha256: '' };
  const stamp = { schema_version, run_id, epoch, seq: seq - 1, prev: '' };
  const start: MarkedLine = {
    line: { ...stamp, type: 'Start', at, ...nothing },
    mark: { records: seq - 1, sha256: first.line.prev, bytes: 0 },
  };
  const history = historyOf(runDir, [start, ...lines], []);
  return history.ok ? history : undefined;
}

type Changing = { -readonly [K in keyof Checkpoint]: Checkpoint[K] };

/** The state after one more line; changes the one before. */
function stateWith(state: Changing | undefined, line: RunRecord | StoppedRecord | ResumedRecord): Changing {
  if (line.type === 'Start') return stateAfter([line]);
  if (state === undefined) throw new Error('Internal: a journal without a beginning');
  if (line.type === 'Stopped' || line.type === 'Resumed') return changedBy(state, line);
  addRecord(state, line);
  return line.type === 'Visit'
    ? Object.assign(state, { status: 'running', ended: null, ...endOfVisit(line) })
    : state;
}

/** A stop or a resume of the run ends all that had begun. */
function openAfter(
  open: readonly OpenExecution[],
  line: RunRecord | StoppedRecord | ResumedRecord,
): readonly OpenExecution[] {
  if (line.type === 'Visit') return open.filter(({ branch }) => branch !== line.branch);
  return line.type === 'BranchStopped' ? open.filter(({ branch }) => branch !== line.branch) : [];
}

/** The state after one more execution, or after a branch that stopped. Changes the maps of `state` in place. */
export function afterRecord(
  state: RunState,
  line: (VisitFacts | BranchStoppedFacts) & { readonly epoch: number },
): RunState {
  const next = { ...state, context: { ...state.context } };
  addRecord(next, line);
  return line.type === 'Visit' ? { ...next, ...endOfVisit(line) } : next;
}

const endOfVisit = ({ spent, ended }: VisitFacts): Partial<RunState> => ({
  ...(spent === undefined ? {} : { spent }),
  ...(ended === undefined ? {} : { status: statusAtEnd(ended), ended }),
});

/** The state after a stop or a resume. Why a run was suspended, and what it asks a person, is kept until an execution is committed. */
function changedBy<S extends RunState>(
  state: S,
  line: Extract<CommittedFacts, { type: 'Stopped' | 'Resumed' }> & { readonly epoch: number },
): S {
  const { epoch, at, elapsed_ms, spent, cut_ms } = line;
  const { cut_ms: _, parked, ...before } = state;
  const now = { ...before, epoch, at, elapsed_ms, spent, ...(cut_ms === undefined ? {} : { cut_ms }) };
  const next =
    line.type === 'Resumed'
      ? { ...now, ...(parked && { parked }), status: 'running', ended: null }
      : {
          ...now,
          ...(line.parked && { parked: line.parked }),
          ...(line.question && { question: line.question }),
          status: line.status,
          ended: line.ended,
        };
  const changed = next as unknown as S & { fork?: Fork; snapshot: string | null };
  for (const [id, { cut_ms: ms }] of Object.entries(line.branches ?? {}))
    cursorToChange(changed, id).cut_ms = ms;
  if (line.type === 'Stopped') return changed;
  const callee = calleeIn(changed);
  if (callee === undefined) changed.snapshot = line.snapshot;
  else cursorToChange(changed, callee).snapshot = line.snapshot;
  return changed;
}

/** The journal of a run that is executed, and its checkpoint. */
export interface RunJournal {
  /** Appends a line that is not flushed by itself: an execution has begun, a call was paid, an agent answered, a copied execution. */
  note(facts: LineFacts): void;
  /** Answers the state after the line, when it is on the disk; the checkpoint is replaced, but not flushed. Changes the maps of
   *  `state` in place. `view` is called with the number of the line, before any other line is committed, to write what the line gives
   *  to the views. */
  commit(facts: CommittedFacts, state: RunState, view?: (line: number) => void): Promise<RunState>;
  mark(): JournalMark;
  /** The number of the last line that has given its records to the views: while another one is committed, that before it. */
  viewed(): number;
  /** All executions so far. */
  visits(): Visits;
  close(): Promise<void>;
}

/** Opens the journal of a run after what was read of it; without that a run begins. `flushNamed` puts on the disk what the next line
 *  names. */
export async function openRunJournal(
  runDir: string,
  options: JournalOptions,
  from?: RunHistory,
  flushNamed: () => Promise<void> = async () => {},
): Promise<RunJournal> {
  const at = layout(runDir);
  const { epoch } = options;
  const journal = await openJournal(
    at.journal,
    { ...options, chained: true },
    from && endOf(at.journal, from),
  );
  const completed = completedNodes(from?.checkpoint.completed_nodes ?? []);
  const visits = visitsAmong(from?.records ?? [], from?.calls ?? []);
  let pending: number | undefined;
  const note = (line: LineFacts): void => {
    journal.append({ schema_version: journalVersion, ...line });
    if (line.type === 'CallStarted') visits.call(line);
    if (line.type === 'Visit' || line.type === 'BranchStopped') visits.branches.add(line);
    if (line.type !== 'Visit') return;
    completed.add(line.node, line.visit);
    visits.add(line);
  };
  return {
    note,
    async commit(facts, state, view = () => {}) {
      await flushNamed();
      note(facts);
      const line = journal.mark().records;
      pending = line;
      await journal.flush();
      const next =
        facts.type === 'Visit' || facts.type === 'BranchStopped'
          ? afterRecord(state, { ...facts, epoch })
          : changedBy(state, { ...facts, epoch } as Parameters<typeof changedBy>[1]);
      await writeCheckpoint(at.checkpoint, next, completed.now(), journal.mark());
      view(line);
      pending = undefined;
      return next;
    },
    mark: () => journal.mark(),
    viewed: () => (pending === undefined ? journal.mark().records : pending - 1),
    visits: () => visits.now(journal.mark()),
    close: () => journal.close(),
  };
}

/** Creates the journal of a new run, unflushed. */
export async function startJournal(
  runDir: string,
  runId: string,
  start: Extract<LineFacts, { type: 'Start' }>,
): Promise<RunHistory> {
  const options = { runId, epoch: 1, sync: false };
  const journal = await openJournal(layout(runDir).journal, { ...options, chained: true });
  const line = { schema_version: journalVersion, ...start } as const;
  journal.append(line);
  await journal.close();
  const mark = journal.mark();
  const first = { ...line, run_id: runId, seq: 1, epoch: 1, prev: '' };
  const history = historyOf(runDir, [{ line: first, mark }], []);
  if (!history.ok) throw new Error(`Internal: ${history.why}`);
  const { completed_nodes, ...state } = history.checkpoint;
  await writeCheckpoint(layout(runDir).checkpoint, state, completed_nodes, mark);
  return history;
}

/** Whatever follows what was read is removed. */
function endOf(path: string, { whole, epoch }: RunHistory): JournalEnd {
  const size = statSync(path).size;
  return {
    bytes: whole.bytes,
    torn: size > whole.bytes,
    seq: whole.records,
    epoch,
    chain: new LineChain({ ...whole, epoch }),
  };
}
