/** Checks the checkpoint and the other journals against the journal of the run. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalHash, type Json, parseJson } from '../core/json.ts';
import type { Mark } from '../core/records/checkpoint.ts';
import { exchangesLayout, layout } from '../core/records/layout.ts';
import { readPlain } from '../platform/files/read.ts';
import { isCode } from '../platform/files/write.ts';
import { linkOf, ownHashOf } from '../run/chain.ts';
import { checkpointFileSchema, checkpointText, completedNodes } from '../run/checkpoint.ts';
import { beginning, type Cursor, journalLines, readJournal } from '../run/journal-read.ts';
import { type RunHistory, readRun } from '../run/run-journal.ts';
import { type Findings, shortJson } from './report.ts';

/** The journal of the run; undefined if it cannot be read. */
export async function checkJournal(runDir: string, found: Findings): Promise<RunHistory | undefined> {
  const history = await readRun(runDir);
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
  checkCheckpoint(runDir, history, found);
  return history;
}

/** Compares the checkpoint with the state that the journal gives. */
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
  found.ownHash(where, ownHashOf(file.text));
  const { journal } = read.data;
  const { committed } = history;
  if (journal.records < committed.records) {
    // A process that is killed between the two leaves the older one.
    found.cannot(`${where}: the journal has more lines; ${late}`);
    return;
  }
  if (journal.records !== committed.records || journal.sha256 !== committed.sha256)
    found.add('changed', 'journal.jsonl', 'it is not the journal that checkpoint.json was written from', {
      should: journal.sha256,
      is: committed.sha256,
    });
  const { completed_nodes, ...state } = history.checkpoint;
  const should = JSON.parse(
    checkpointText(state, completedNodes(completed_nodes).now(), committed).toString(),
  );
  compareState(says as Record<string, Json>, should, found);
}

function jsonIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function compareState(
  says: Readonly<Record<string, Json>>,
  should: Record<string, Json>,
  found: Findings,
): void {
  for (const [key, value] of Object.entries(should)) {
    const is = says[key] ?? null;
    if (key === 'sha256' || key === 'journal' || canonicalHash(is) === canonicalHash(value)) continue;
    found.add('contradiction', 'checkpoint.json', `"${key}" is not the value that the journal gives`, {
      should: shortJson(value),
      is: shortJson(is),
    });
  }
}

/** Compares the journals with their lengths and hashes in the journal of the run and in `counted`, the result of its latest
 *  end. */
export async function checkJournals(
  runDir: string,
  { marks, whole, checkpoint }: RunHistory,
  counted: Readonly<Record<string, Mark>> | undefined,
  found: Findings,
): Promise<void> {
  const all = await readJournals(runDir, found);
  for (const [where, mark] of Object.entries(marks))
    checkMark(all[where] ?? none, where, mark, 'the journal', found);
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
  for (const [where, journal] of Object.entries(all)) {
    found.count('records', journal.hashes.length);
    if (counted === undefined) continue;
    const mark = counted[where] ?? { records: 0, sha256: '' };
    checkMark(journal, where, mark, 'result.json', found);
    if (isOver) checkEnd(journal.hashes.length, journal.torn, where, mark.records, mayResume, found);
  }
  if (counted === undefined)
    found.cannot(
      'the last lines of the journals: the process ended before it recorded their hashes in result.json',
    );
}

const none: ReadFacts = { hashes: [], torn: 0 };

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

/** The journals of a run: their lengths and hashes as recorded by the checkpoint and the result. */
type ReadFacts = {
  /** After each record, the hash of all so far. */
  readonly hashes: readonly string[];
  /** Bytes after the last complete record. */
  readonly torn: number;
};

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** The journals besides `journal.jsonl`, by their paths in the run directory. */
async function readJournals(runDir: string, found: Findings): Promise<Readonly<Record<string, ReadFacts>>> {
  const { events, trace } = layout('');
  const exchanges = exchangesLayout(layout('').exchanges).calls;
  const all: Record<string, ReadFacts> = {};
  for (const path of [events, trace]) all[path] = await readFacts(join(runDir, path), path, found);
  all[exchanges] = hashesIn(join(runDir, exchanges));
  return all;
}

/** Reads a journal as its readers do: a record of an earlier owner after one of a later owner is ignored, and the later
 *  owner's record replaces one with the same number. */
async function readFacts(path: string, where: string, found: Findings): Promise<ReadFacts> {
  const kept: Numbered[] = [];
  const hashes: string[] = [];
  let end = 0;
  let replaced = 0;
  const late = ({ line, epoch, offset }: Cursor) => {
    end = offset;
    if (Number.isInteger(epoch) && epoch > 0) replaced += 1;
    else found.add('added', where, `line ${line} belongs to no owner of the run`, { is: `epoch ${epoch}` });
  };
  for await (const entry of readJournal(path, beginning, late)) {
    end = entry.cursor.offset;
    // A damaged line is missing from the hash.
    if (entry.kind === 'unreadable') continue;
    const line = { seq: number(entry.record['seq']), epoch: number(entry.record['epoch']) };
    for (let last = kept.at(-1); last !== undefined && supersedes(line, last); last = kept.at(-1)) {
      kept.pop();
      hashes.pop();
      replaced += 1;
    }
    kept.push(line);
    hashes.push(linkOf(hashes.at(-1) ?? '', entry.bytes));
  }
  if (replaced > 0)
    found.cannot(
      `${replaced} ${replaced === 1 ? 'line' : 'lines'} of ${where} that an owner wrote while a later one had the run`,
    );
  const size = sizeOf(path);
  return { hashes, torn: Math.max(0, size - end) };
}

type Numbered = { readonly seq: number; readonly epoch: number };

const supersedes = (later: Numbered, earlier: Numbered): boolean =>
  later.epoch > earlier.epoch && later.seq <= earlier.seq;

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

/** 0 if there is no file; circular links are reported elsewhere. */
function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch (error) {
    if (isCode(error, 'ELOOP')) return 0;
    throw error;
  }
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
