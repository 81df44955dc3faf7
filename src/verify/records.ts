/** Checks checkpoint and journals by their hashes, and the checkpoint against `visits.jsonl`. */
import { readFileSync } from 'node:fs';
import { canonicalHash } from '../model/canonical.ts';
import type { Checkpoint } from '../model/checkpoint.ts';
import type { Json } from '../model/json.ts';
import { layout } from '../model/layout.ts';
import type { Mark } from '../model/mark.ts';
import type { RunRecord } from '../model/visit-record.ts';
import { loadWithRecords, type Vouched } from '../store/checkpoint.ts';
import { ownHashOf } from '../store/own-hash.ts';
import { stateAfter } from '../store/visits.ts';
import { checkMark, type Fact, type ReadFacts, readJournals } from './journals.ts';
import { type Findings, shortJson } from './report.ts';

export type Standing = {
  readonly checkpoint: Checkpoint;
  readonly vouched: Vouched;
  readonly records: readonly RunRecord[];
};

/** The checkpoint and the executions that it covers; undefined if they cannot be read. */
export async function checkStanding(runDir: string, found: Findings): Promise<Standing | undefined> {
  const at = layout(runDir);
  const loaded = await loadWithRecords(at.checkpoint);
  if (!loaded.ok) {
    const where = loaded.why.startsWith(at.visits) ? 'visits.jsonl' : 'checkpoint.json';
    found.add(loaded.missing ? 'missing' : 'unreadable', where, loaded.why);
    return undefined;
  }
  const { checkpoint, vouched, records } = loaded;
  found.count('files', 2);
  found.count('visits', records.length - 1);
  const text = readFileSync(at.checkpoint, 'utf8');
  found.ownHash('checkpoint.json', ownHashOf(text));
  compareState(JSON.parse(text) as Record<string, Json>, stateAfter(records), found);
  return { checkpoint, vouched, records };
}

/** Compares the checkpoint with the state computed from `visits.jsonl`. */
function compareState(says: Readonly<Record<string, Json>>, visits: Checkpoint, found: Findings): void {
  const state = JSON.parse(JSON.stringify(visits)) as Readonly<Record<string, Json>>;
  for (const key of [
    'completed_nodes',
    'retry_counts',
    'context',
    'next_node',
    'arrived',
    'steps',
    'last_outcome',
    'last_failure',
  ]) {
    const said = says[key];
    const value = state[key] ?? null;
    if (said === undefined || canonicalHash(said) === canonicalHash(value)) continue;
    found.add('contradiction', 'checkpoint.json', `"${key}" is not the value that the executions give`, {
      should: shortJson(value),
      is: shortJson(said),
    });
  }
}

export type Story = {
  readonly trace: ReadFacts;
  /** Whether an execution had begun and has no record of its end. */
  readonly underWay: boolean;
  /** Whether the run was resumed after the end that `result.json` describes. */
  readonly wentOn: boolean;
};

/** Compares the journals with their lengths and hashes in the checkpoint and in `counted`, the result of the latest end.
 *  `hasNext`: the manifest is the one that the checkpoint expected next. */
export async function checkJournals(
  runDir: string,
  { vouched, records, checkpoint }: Standing,
  counted: Readonly<Record<string, Mark>> | undefined,
  hasNext: boolean,
  found: Findings,
): Promise<Story> {
  const all = await readJournals(runDir, found);
  const { 'visits.jsonl': visits = none, 'events.jsonl': events = none, 'trace.jsonl': trace = none } = all;
  const ofVisits = { records: vouched.visits_seq, sha256: vouched.visits_sha256 ?? '' };
  for (const [where, mark] of Object.entries({ 'visits.jsonl': ofVisits, ...vouched.journals }))
    checkMark(all[where] ?? none, where, mark, 'the checkpoint', found);
  // A run that has reached an exit is not resumed.
  const mayResume = checkpoint.status !== 'completed' && checkpoint.ended?.exit_node == null;
  const next = ({ facts }: ReadFacts, where: string) => facts[counted?.[where]?.records ?? 0]?.type;
  const wentOn =
    mayResume &&
    (visits.hashes.length > vouched.visits_seq ||
      (hasNext && checkpoint.parked === undefined) ||
      (counted !== undefined &&
        (next(events, 'events.jsonl') === 'PipelineStarted' ||
          next(trace, 'trace.jsonl') === 'SessionInitialized')));
  const isCut = wentOn || checkpoint.status === 'running';
  for (const [where, journal] of Object.entries(all)) {
    found.count('records', journal.hashes.length);
    if (counted === undefined) continue;
    const mark = counted[where] ?? { records: 0, sha256: '' };
    checkMark(journal, where, mark, 'result.json', found);
    if (!isCut) checkEnd(journal, where, mark, mayResume, found);
  }
  if (counted === undefined)
    found.cannot(
      'the last lines of the journals: the process ended before it recorded their hashes in result.json',
    );
  return { trace, underWay: isUnderWay(trace.facts, records), wentOn };
}

const none: ReadFacts = { facts: [], hashes: [], torn: 0 };

/** No record may follow the end of a run, except the torn line of a resume that was killed at once. */
function checkEnd(
  { hashes, torn }: ReadFacts,
  where: string,
  { records }: Mark,
  mayResume: boolean,
  found: Findings,
): void {
  if (hashes.length > records)
    found.add('added', where, 'there are more records than the run had written at its end', {
      should: `${records} records`,
      is: `${hashes.length} records`,
    });
  if (torn === 0) return;
  const what = `the last ${torn} bytes are no whole line`;
  if (mayResume) found.cannot(`the end of ${where}: ${what}, as a resume that was killed leaves them`);
  else found.add('added', where, `${what}, and the run was not interrupted`);
}

/** Whether the last execution was interrupted. A crash may have lost the event for its end; then the line in
 *  `visits.jsonl` counts. */
function isUnderWay(facts: readonly Fact[], records: readonly RunRecord[]): boolean {
  const began = facts.findLastIndex(({ type }) => type === 'NodeInputCaptured');
  const { node, visit } = facts[began] ?? {};
  const isRecorded = records.some((one) => one.type === 'Visit' && one.node === node && one.visit === visit);
  return began >= 0 && !isRecorded && !facts.slice(began).some(({ type }) => type === 'NodeOutputCaptured');
}
