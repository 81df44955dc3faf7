/** `checkpoint.json`: replaced as a whole and flushed before its event. What grows with the run is in `visits.jsonl`; the
 *  checkpoint says how many lines of it count. */
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { BoundedCheckpoint, Checkpoint, Cover, type RunState } from '../model/checkpoint.ts';
import { parseJson } from '../model/json.ts';
import { layout } from '../model/layout.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { both, syncFolder, writeFileAtomic } from '../system/files.ts';
import { readPlain } from '../system/read.ts';
import type { Journal, JournalOptions } from './journal.ts';
import { ownHashOf, withOwnHash } from './own-hash.ts';
import { inALine, messageOf, otherVersion, type Unreadable, unreadable } from './problem.ts';
import { openVisits, readVisits, stateAfter, type VisitFacts } from './visits.ts';

/** Longer lists are left to `visits.jsonl`, so that saving stays cheap. */
const mostInline = 1000;
const visitsName = basename(layout('').visits);

const InFile = z.object({
  ...BoundedCheckpoint.shape,
  completed_nodes: z.array(z.string()).optional(),
  completed_nodes_file: z.string().optional().describe('Whose lines of type Visit name the nodes'),
  completed_nodes_count: z.int().min(0).optional().describe('How many different ones they name'),
  retry_counts: Checkpoint.shape.retry_counts.optional().describe('Left out where there are more than 1,000'),
  visits_file: z.literal(visitsName),
  visits_seq: z.int().positive().describe('Number of the last line of that file that counts'),
  visits_sha256: z.string().optional().describe('Of those lines, each hashed with the hash before it'),
  ...Cover.partial().shape,
  sha256: z.string().optional().describe('Of the text up to here, as if it ended there'),
});

/** Hashes in a checkpoint, of itself and of other files. */
const vouching = [
  'visits_seq',
  'visits_sha256',
  'manifest_sha256',
  'manifest_next',
  'snapshot_next',
  'journals',
] as const;
export type Vouched = Pick<z.infer<typeof InFile>, (typeof vouching)[number]>;

const bounded = Object.keys(BoundedCheckpoint.shape) as (keyof z.infer<typeof BoundedCheckpoint>)[];

/** Parts that are checked with the whole are not checked again. */
function only<T extends object, K extends keyof T>(whole: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.filter((key) => key in whole).map((key) => [key, whole[key]])) as Pick<T, K>;
}

/** The schema before saving. The context is left out: any value of it loads again, and it may be large. */
const Loadable = BoundedCheckpoint.omit({ context: true, last_outcome: true });

/** How a checkpoint and its `visits.jsonl` belong together. */
export type Beside = {
  /** Number of the last line that counts. */
  readonly seq: number;
  /** Sorted ids of the nodes that completed, or how many there are when they are more than 1,000. */
  readonly completed: readonly string[] | number;
  /** The hash of those lines. */
  readonly sha256?: string;
  readonly cover?: Cover;
  /** Flushes the lines, together with the new checkpoint, which is renamed only then. */
  readonly flush?: () => Promise<void>;
  /** Whether the checkpoint goes to the disk. Default true. */
  readonly sync?: boolean;
};

/** Settles when the name of the new checkpoint is flushed: a power cut then leaves the new one. */
export type OnDisk = () => Promise<void>;

/** Replaces the checkpoint at `path`. When it settles the new one survives a power cut; until then a crash leaves the old
 *  one. Rejects if it cannot be written or could not be loaded again. */
export async function saveCheckpoint(path: string, state: RunState, beside: Beside): Promise<void> {
  const onDisk = await putCheckpoint(path, state, beside);
  await onDisk();
}

/** As `saveCheckpoint`, but settles when the new one is renamed with its bytes flushed: a kill then leaves the new one, a
 *  power cut may still leave the old one. */
async function putCheckpoint(path: string, state: RunState, beside: Beside): Promise<OnDisk> {
  const checked = Loadable.safeParse(state);
  if (!checked.success)
    throw new Error(`Internal: a checkpoint that could not be loaded: ${z.prettifyError(checked.error)}`);
  const { completed } = beside;
  const count = typeof completed === 'number' ? completed : completed.length;
  const content = {
    schema_version: state.schema_version,
    run_id: state.run_id,
    epoch: state.epoch,
    last_completed_node: state.last_completed_node,
    ...(typeof completed !== 'number' && count <= mostInline
      ? { completed_nodes: completed }
      : { completed_nodes_file: visitsName, completed_nodes_count: count }),
    ...(hasAtMost(state.retry_counts, mostInline) ? { retry_counts: state.retry_counts } : {}),
    context: state.context,
    next_node: state.next_node,
    arrived: state.arrived,
    steps: state.steps,
    last_outcome: state.last_outcome,
    last_failure: state.last_failure,
    snapshot: state.snapshot,
    elapsed_ms: state.elapsed_ms,
    ...(state.spent === undefined ? {} : { spent: state.spent }),
    ...(state.cut_ms === undefined ? {} : { cut_ms: state.cut_ms }),
    status: state.status,
    ended: state.ended,
    ...(state.parked === undefined ? {} : { parked: state.parked }),
    at: state.at,
    visits_file: visitsName,
    visits_seq: beside.seq,
    ...(beside.sha256 === undefined ? {} : { visits_sha256: beside.sha256 }),
    ...beside.cover,
  };
  const { sync = true } = beside;
  await writeFileAtomic(path, withOwnHash(content), {
    sync,
    evenFolder: true,
    ...(beside.flush === undefined ? {} : { first: beside.flush }),
  });
  if (!sync) return () => Promise.resolve();
  const named = syncFolder(dirname(path));
  // It may fail before the caller waits for it.
  named.catch(() => undefined);
  return () => named;
}

/** Whether a record has at most that many entries, without counting more. */
function hasAtMost(record: object, most: number): boolean {
  let count = 0;
  for (const key in record) if (Object.hasOwn(record, key) && ++count > most) return false;
  return true;
}

/** The two files with the state of a run, and the only way to change them. */
export interface Ledger {
  /** Appends the line of a finished execution (or the Start record), then replaces the checkpoint, which counts it. */
  save(state: RunState, visit?: VisitFacts, cover?: Cover): Promise<void>;
  /** As `save`, but settles when the new checkpoint is renamed; the answer waits for the rest. It also waits
   *  for the work of the third parameter, which runs together with its flushes. */
  put(state: RunState, visit?: VisitFacts, beside?: () => Promise<void>, cover?: Cover): Promise<OnDisk>;
  close(): Promise<void>;
}

/** Opens the ledger of a run after what `loadCheckpoint` has read; lines that this checkpoint does not count are removed.
 *  Without `from` a run begins, and `visits.jsonl` must not exist. With `sync` false nothing is flushed. */
export async function openLedger(
  runDir: string,
  options: JournalOptions,
  from?: Pick<Loaded, 'checkpoint' | 'visits'>,
): Promise<Ledger> {
  const at = layout(runDir);
  const journal: Journal = await openVisits(at.visits, from?.visits.end ?? 0, options);
  let seq = from?.visits.seq ?? 0;
  const sorted = [...(from?.checkpoint.completed_nodes ?? [])];
  let count = sorted.length;
  const put: Ledger['put'] = async (state, visit, beside, cover) => {
    if (visit !== undefined) {
      seq = journal.append(visit);
      if (visit.type === 'Visit' && visit.visit === 1) {
        count += 1;
        if (count <= mostInline) insert(sorted, visit.node);
        else sorted.length = 0;
      }
    }
    return putCheckpoint(at.checkpoint, state, {
      seq,
      completed: count <= mostInline ? sorted : count,
      sha256: journal.marks().written.sha256,
      ...(cover === undefined ? {} : { cover }),
      ...(options.sync === undefined ? {} : { sync: options.sync }),
      flush: () => both(beside?.(), journal.flush()),
    });
  };
  return {
    put,
    save: async (state, visit, cover) => (await put(state, visit, undefined, cover))(),
    close: () => journal.close(),
  };
}

function insert(sorted: string[], id: string): void {
  let from = 0;
  for (let to = sorted.length; from < to; ) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? '') < id) from = middle + 1;
    else to = middle;
  }
  sorted.splice(from, 0, id);
}

export type Loaded = {
  readonly ok: true;
  readonly checkpoint: Checkpoint;
  /** The last line of `visits.jsonl` that counts: its number, and where it ends. */
  readonly visits: { readonly seq: number; readonly end: number };
  /** Its hashes of other files. */
  readonly vouched: Vouched;
  /** Which of the two files was changed, by the hashes in the checkpoint. */
  readonly changed?: string;
};
export type LoadedCheckpoint = Loaded | (Unreadable & { readonly missing: boolean });

/** Loads the checkpoint at `path` with `visits.jsonl`, or answers which file is invalid and how to fix it. Rejects only if a
 *  file exists and may not be read. */
export async function loadCheckpoint(path: string): Promise<LoadedCheckpoint> {
  const read = await loadWithRecords(path);
  if (!read.ok) return read;
  // A resume does not need them, and there may be many.
  const { records: _, ...loaded } = read;
  return loaded;
}

/** As `loadCheckpoint`, with the records of the executions that it counts. */
export async function loadWithRecords(
  path: string,
): Promise<(Loaded & { readonly records: readonly RunRecord[] }) | Exclude<LoadedCheckpoint, Loaded>> {
  const fix = 'put back a copy of the file if there is one, else start a new run (without --resume)';
  const broken = (what: string): Exclude<LoadedCheckpoint, Loaded> => ({
    ...unreadable(`${path} ${what}`, fix),
    missing: false,
  });
  const found = readPlain(path);
  if (found.kind === 'none') return { ...unreadable(`${path} ${found.why}`, fix), missing: true };
  if (found.kind === 'missing') {
    const what = `there is no checkpoint ${path}, so there is no run to resume`;
    const mend = 'check the run id and --runsdir, or start a new run (without --resume)';
    return { ...unreadable(what, mend), missing: true };
  }
  const { text } = found;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return broken(`is not JSON (${messageOf(error)})`);
  }
  const other = otherVersion(value);
  if (other !== undefined) return { ...unreadable(`${path} ${other.what}`, other.fix), missing: false };
  const read = InFile.safeParse(value);
  if (!read.success) return broken(`is no checkpoint of this version (${inALine(read.error)})`);
  const { visits_file, visits_seq } = read.data;
  const small = only(read.data, bounded);
  const visits = await readVisits(join(dirname(path), visits_file), visits_seq);
  if (!visits.ok) return { ...visits, missing: false };
  const folded = stateAfter(visits.records);
  if (
    folded.run_id !== small.run_id ||
    folded.steps !== small.steps ||
    folded.last_completed_node !== small.last_completed_node
  ) {
    return broken(
      `is at ${whereItStands(small)}, but the lines of ${visits_file} that it counts end at ${whereItStands(folded)}`,
    );
  }
  const { visits_sha256 } = read.data;
  const own = ownHashOf(text);
  const isChanged = own.is !== own.says || (own.says === '' && visits_sha256 !== undefined);
  const changed = isChanged
    ? path
    : visits_sha256 !== undefined && visits_sha256 !== visits.sha256
      ? join(dirname(path), visits_file)
      : undefined;
  return {
    ok: true,
    checkpoint: { ...folded, ...small },
    visits: { seq: visits_seq, end: visits.end },
    records: visits.records,
    vouched: only(read.data, vouching),
    ...(changed === undefined ? {} : { changed }),
  };
}

const whereItStands = (state: Pick<Checkpoint, 'run_id' | 'steps' | 'last_completed_node'>): string =>
  `run ${state.run_id} after ${state.steps} stages${state.last_completed_node === '' ? '' : ` ("${state.last_completed_node}" was the last)`}`;
