/** Checks the records of a run against its journal. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalHash, type Json, parseJson } from '../core/json.ts';
import type { Mark } from '../core/records/checkpoint.ts';
import { exchangesLayout, layout } from '../core/records/layout.ts';
import type { Manifest } from '../core/records/manifest.ts';
import { readPlain } from '../platform/files/read.ts';
import { linkOf } from '../run/chain.ts';
import { checkpointFileSchema, checkpointText, completedNodes } from '../run/checkpoint.ts';
import { journalLines } from '../run/journal-read.ts';
import type { RunReader } from '../run/open-run.ts';
import type { RunHistory } from '../run/run-journal.ts';
import { type Findings, shortJson } from './report.ts';
import { checkViews } from './views.ts';

/** The journal of the run; undefined if it cannot be read. */
export function checkJournal(reader: RunReader, found: Findings): RunHistory | undefined {
  const history = reader.history();
  if (!history.ok) {
    found.add(history.missing ? 'missing' : 'changed', 'journal.jsonl', history.why);
    return undefined;
  }
  found.count('files');
  found.count('visits', history.records.length - 1);
  found.count('records', history.whole.records);
  const late = history.late.length;
  if (late > 0)
    found.cannot(
      `${late} ${late === 1 ? 'line' : 'lines'} of journal.jsonl that an owner wrote while a later one had the run`,
    );
  checkCheckpoint(reader.dir, history, found);
  return history;
}

/** Compares the checkpoint with the text that the journal gives. */
function checkCheckpoint(runDir: string, history: RunHistory, found: Findings): void {
  const where = 'checkpoint.json';
  const file = readPlain(layout(runDir).checkpoint);
  const late = 'a resume writes it from the journal';
  if (file.kind !== 'text') {
    found.add('missing', where, `there is none: it was removed, or lost in a power cut; ${late}`);
    return;
  }
  found.count('files');
  const says = jsonIn(file.text);
  const read = checkpointFileSchema().safeParse(says);
  if (!read.success) {
    found.add('unreadable', where, `it is not the JSON of a checkpoint; ${late}`);
    return;
  }
  const { committed } = history;
  if (read.data.journal.records < committed.records) {
    // A process that is killed between the two leaves the older one.
    found.cannot(`${where}: the journal has more lines; ${late}`);
    return;
  }
  const { completed_nodes, ...state } = history.checkpoint;
  const should = checkpointText(state, completedNodes(completed_nodes).now(), committed);
  if (should === file.text) return;
  const wrong = Object.entries(JSON.parse(should) as Record<string, Json>).filter(
    ([key, value]) => canonicalHash((says as Record<string, Json>)[key] ?? null) !== canonicalHash(value),
  );
  for (const [key, value] of wrong)
    found.add('contradiction', where, `"${key}" is not the value that the journal gives`, {
      should: shortJson(value),
      is: shortJson((says as Record<string, Json>)[key] ?? null),
    });
  if (wrong.length === 0) found.add('changed', where, 'it is not the text that the journal gives');
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Compares the journal and the exchanges with their lengths and hashes in `counted`, the result of the latest end, and the
 *  views with what the journal gives. */
export async function checkJournals(
  reader: RunReader,
  manifest: Manifest,
  history: RunHistory,
  counted: Readonly<Record<string, Mark>> | undefined,
  found: Findings,
): Promise<void> {
  const { dir: runDir } = reader;
  const { marks, whole, checkpoint } = history;
  const { calls } = exchangesLayout(layout('').exchanges);
  const exchanges = hashesIn(join(runDir, calls));
  found.count('records', exchanges.hashes.length);
  for (const mark of Object.values(marks)) checkMark(exchanges, calls, mark, 'the journal', found);
  // A run that has reached an exit is not resumed.
  const mayResume = checkpoint.status !== 'completed' && checkpoint.ended?.exit_node == null;
  const torn = statSync(layout(runDir).journal).size - whole.bytes;
  const isOver = counted !== undefined && checkpoint.status !== 'running';
  if (isOver) {
    const { records = 0, sha256 = '' } = counted['journal.jsonl'] ?? {};
    if (whole.records < records || (whole.records === records && whole.sha256 !== sha256))
      found.add('changed', 'journal.jsonl', 'it is not the journal that result.json was written from', {
        should: sha256,
        is: whole.sha256,
      });
    checkEnd(whole.records, torn, 'journal.jsonl', records, mayResume, found);
  }
  // A full disk has no room for the records of its suspension.
  const areWhole =
    isOver && counted['journal.jsonl']?.records === whole.records && checkpoint.status !== 'paused_disk';
  await checkViews({ reader, manifest, history, areWhole }, found);
  if (counted === undefined) {
    found.cannot('the end of the records: the process ended before it wrote result.json');
    return;
  }
  const mark = counted[calls] ?? { records: 0, sha256: '' };
  checkMark(exchanges, calls, mark, 'result.json', found);
  if (isOver) checkEnd(exchanges.hashes.length, exchanges.torn, calls, mark.records, mayResume, found);
}

/** No record may follow the end of a run, except what a resume that was killed at once has left. */
function checkEnd(
  is: number,
  torn: number,
  where: string,
  records: number,
  mayResume: boolean,
  found: Findings,
): void {
  if (is > records && !(mayResume && where === 'journal.jsonl'))
    found.add('added', where, 'there are more records than the run had written at its end', {
      should: `${records} records`,
      is: `${is} records`,
    });
  if (torn === 0) return;
  const what = `the last ${torn} bytes are no whole line`;
  if (mayResume) found.cannot(`the end of ${where}: ${what}, as a resume that was killed leaves them`);
  else found.add('added', where, `${what}, and the run was not interrupted`);
}

/** The records of a file. */
type ReadFacts = {
  /** After each record, the hash of all so far. */
  readonly hashes: readonly string[];
  /** Bytes after the last complete record. */
  readonly torn: number;
};

/** The exchanges, whose lines carry hashes instead of numbers. */
function hashesIn(path: string): ReadFacts {
  const hashes: string[] = [];
  let torn = 0;
  for (const { bytes, whole } of journalLines(path)) {
    if (whole) hashes.push(linkOf(hashes.at(-1) ?? '', bytes));
    else torn = bytes.length;
  }
  return { hashes, torn };
}

/** Compares the first records of a journal with the count and hash in `by`. */
function checkMark(
  { hashes }: ReadFacts,
  where: string,
  { records, sha256 }: Mark,
  by: string,
  found: Findings,
): void {
  const is = records === 0 ? '' : hashes[records - 1];
  if (is === undefined)
    found.add('missing', where, `records are missing: ${by} counts more of them`, {
      should: `${records} records`,
      is: `${hashes.length} records`,
    });
  else if (is !== sha256)
    found.add('changed', where, `one of the first ${records} lines differs from what ${by} recorded`, {
      should: sha256,
      is,
    });
}
