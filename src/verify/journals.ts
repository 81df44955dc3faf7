/** The journals of a run: their lengths and hashes as recorded by the checkpoint and the result. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { exchangesLayout, layout } from '../model/layout.ts';
import type { Mark } from '../model/mark.ts';
import { linkOf } from '../store/chain.ts';
import { beginning, type Cursor, lines, readJournal } from '../store/journal-read.ts';
import { isCode } from '../system/files.ts';
import type { Findings } from './report.ts';

export type ReadFacts = {
  /** After each record, the hash of all so far. */
  readonly hashes: readonly string[];
  /** Bytes after the last complete record. */
  readonly torn: number;
};

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** The journals besides `journal.jsonl`, by their paths in the run directory. */
export async function readJournals(
  runDir: string,
  found: Findings,
): Promise<Readonly<Record<string, ReadFacts>>> {
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
  for (const { bytes, whole } of lines(path)) {
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
export function checkMark(
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
