/** Views of the journal: `events.jsonl` and `trace.jsonl`. They are only appended to, not hashed, and flushed at the end of the
 *  run. Each record has the number of the journal's last line then (`line`), so that the next owner finds what a crash has left
 *  out. */
import { closeSync, fstatSync, ftruncateSync, readSync } from 'node:fs';
import type { JsonObject } from '../core/json.ts';
import type { JournalLine } from '../core/records/journal.ts';
import { beforeWrite } from '../platform/files/fence.ts';
import { appendLine, type Closing, openToAppend } from './journal.ts';
import { readLine } from './journal-read.ts';

export interface ViewFile extends Closing {
  /** Adds `run_id`, `seq`, `epoch` and `line`. Throws if the record cannot be written, and leaves no part of it. */
  append(record: object, line: number): void;
  close(): void;
}

/** What a view has. */
export type ViewEnd = {
  /** Up to the last whole record. */
  readonly bytes: number;
  readonly seq: number;
  /** The last line of the journal that a record which counts has; 0 for none. */
  readonly line: number;
  /** Types of the records with that line. */
  readonly types: readonly string[];
};

/** Whether a record of a view counts: the journal has its line, and no later owner wrote that. The line of a lost record may
 *  have been written again. */
export const recordCounts = (lines: readonly JournalLine[], { line, epoch }: JsonObject): boolean =>
  (lines[numberOf(line) - 1]?.epoch ?? Number.POSITIVE_INFINITY) <= numberOf(epoch);

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Bytes that are read first; more if they have records of one line only. */
const firstBytes = 1 << 16;

/** Opens a view after its last whole record; what follows it, torn by a crash, is removed. `lines`: of the journal. */
export function openViewFile(
  path: string,
  owner: { readonly runId: string; readonly epoch: number },
  lines: readonly JournalLine[],
): { readonly view: ViewFile; readonly end: ViewEnd } {
  beforeWrite(path);
  const file = openToAppend(path);
  try {
    const end = endOf(file, lines);
    if (fstatSync(file).size > end.bytes) ftruncateSync(file, end.bytes);
    return { view: viewOf(file, path, owner, end.seq), end };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function viewOf(
  file: number,
  path: string,
  { runId: run_id, epoch }: { readonly runId: string; readonly epoch: number },
  last: number,
): ViewFile {
  let seq = last;
  let open = true;
  return {
    append(record, line) {
      if (!open) throw new Error(`Internal: ${path} is closed`);
      appendLine(file, path, { ...record, run_id, seq: seq + 1, epoch, line });
      seq += 1;
    },
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}

function endOf(file: number, lines: readonly JournalLine[]): ViewEnd {
  const { size } = fstatSync(file);
  for (let most = firstBytes; ; most *= 8) {
    const from = Math.max(0, size - most);
    const text = Buffer.alloc(size - from);
    readSync(file, text, 0, text.length, from);
    const { records, end } = wholeRecords(text, from > 0);
    const counted = records.filter((one) => recordCounts(lines, one));
    const line = counted.reduce((last, one) => Math.max(last, numberOf(one['line'])), 0);
    if (from > 0 && !counted.some((one) => numberOf(one['line']) < line)) continue;
    const types = counted.filter((one) => one['line'] === line).map((one) => String(one['type']));
    return { bytes: from + end, seq: numberOf(records.at(-1)?.['seq']), line, types };
  }
}

/** The records of a text up to the first line that is none, and where they end. `cut`: the text begins within a line. */
function wholeRecords(text: Buffer, cut: boolean): { readonly records: JsonObject[]; readonly end: number } {
  const records: JsonObject[] = [];
  let end = cut ? text.indexOf(10) + 1 : 0;
  for (let stop = text.indexOf(10, end); stop !== -1; stop = text.indexOf(10, end)) {
    const read = readLine(text.subarray(end, stop));
    if ('why' in read) break;
    records.push(read.record);
    end = stop + 1;
  }
  return { records, end };
}
