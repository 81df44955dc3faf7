/** Compares the views `events.jsonl` and `trace.jsonl` with what the journal gives. */
import { canonicalHash, type Json, type JsonObject } from '../core/json.ts';
import { layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import type { JournalPosition } from '../run/journal-read.ts';
import type { RunReader } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { recordCounts } from '../run/view-file.ts';
import { type ViewPlaces, type ViewRecords, viewRecordsFrom } from '../run/view-records.ts';
import { type Findings, shortJson } from './report.ts';

type Viewed = {
  readonly reader: RunReader;
  readonly manifest: Manifest;
  readonly history: RunHistory;
  /** The views were flushed at the end of the run, and nothing was recorded since. */
  readonly areWhole: boolean;
};

/** Types of records that no line of the journal gives: of the start of an owner, and of what happens within an execution. They are
 *  not compared. */
const besidesJournal: ReadonlySet<unknown> = new Set([
  ...['PipelineStarted', 'SessionInitialized', 'ResumeLoaded', 'ForkLoaded'],
  ...[
    'StageRetrying',
    'CallRetrying',
    'StageWaiting',
    'AgentActed',
    'GuardrailViolation',
    'ReplayRan',
    'ScenarioRerun',
    'SetupRan',
  ],
]);

/** Fields that the view adds, that only the engine knew, and paths. */
const notCompared: ReadonlySet<string> = new Set([
  ...['run_id', 'seq', 'epoch', 'line', 'sandbox', 'node_shape', 'node_attrs', 'workspace'],
  ...['node_artifact_dir', 'status_path'],
]);

export async function checkViews(run: Viewed, found: Findings): Promise<void> {
  await checkView(run, 'events', notCompared, found);
  // The trace has the type as the graph spells it.
  await checkView(run, 'trace', new Set([...notCompared, 'node_type']), found);
}

/** The records that the journal gives are in the view, in their order. */
async function checkView(
  { reader, manifest, history: { lines }, areWhole }: Viewed,
  view: 'events' | 'trace',
  except: ReadonlySet<string>,
  found: Findings,
): Promise<void> {
  const where = layout('')[view];
  const should = recordsOf(viewRecordsFrom(1, lines, manifest, places), view);
  let stale = 0;
  const late = ({ line, epoch }: JournalPosition) => {
    if (Number.isInteger(epoch) && epoch > 0) stale += 1;
    else found.add('added', where, `line ${line} belongs to no owner of the run`, { is: `epoch ${epoch}` });
  };
  for await (const entry of reader.view(view, undefined, late)) {
    const line = `line ${entry.cursor.line}`;
    if (entry.kind === 'unreadable') return found.add('changed', where, `${line} ${entry.why}`);
    const { record } = entry;
    found.count('records');
    if (besidesJournal.has(record['type'])) continue;
    if (!recordCounts(lines, record)) {
      stale += 1;
      continue;
    }
    const next = should.next();
    if (next.done === true) return found.add('added', where, `${line} is not what the journal gives`);
    if (!isSame(next.value, record, except))
      return found.add('changed', where, `${line} is not what the journal gives`, {
        should: shortJson(next.value),
        is: shortJson(record),
      });
  }
  if (stale > 0)
    found.cannot(`${stale} ${stale === 1 ? 'line' : 'lines'} of ${where} of an owner that had lost the run`);
  if (should.next().done === true) return;
  if (areWhole) found.add('missing', where, 'records are missing: the journal gives more of them');
  else found.cannot(`the end of ${where}: the journal gives more; a resume writes it`);
}

/** Paths and what only the engine knew are not compared. */
const places: ViewPlaces = {
  runDir: '',
  input: () => ({ node_type: '', node_shape: '', node_attrs: {}, workspace: '' }),
};

function* recordsOf(
  all: Iterable<{ readonly records: ViewRecords }>,
  view: 'events' | 'trace',
): Generator<JsonObject> {
  for (const { records } of all) yield* records[view] as readonly JsonObject[];
}

function isSame(should: JsonObject, is: JsonObject, except: ReadonlySet<string>): boolean {
  const [one, other] = [compared(should, except), compared(is, except)];
  return JSON.stringify(one) === JSON.stringify(other) || canonicalHash(one) === canonicalHash(other);
}

const compared = (record: JsonObject, except: ReadonlySet<string>): Json =>
  Object.fromEntries(Object.entries(record).filter(([key]) => !except.has(key)));
