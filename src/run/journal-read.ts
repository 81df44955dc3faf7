/** Reads journals: whole records of the run's owners, in order. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type JsonObject, parseJson } from '../core/json.ts';
import { DiskStop, named } from '../platform/files/disk-error.ts';
import { isCode, isMissing } from '../platform/files/write.ts';
import { LineChain } from './chain.ts';

/** Position of a reader, to continue from later. */
export type JournalPosition = {
  /** Bytes read, up to the end of a whole line. */
  readonly offset: number;
  /** Lines read. */
  readonly line: number;
  /** The highest epoch so far. */
  readonly epoch: number;
};

export type JournalEntry =
  | {
      readonly kind: 'record';
      readonly record: JsonObject;
      readonly cursor: JournalPosition;
      /** The line without its end. */
      readonly bytes: Buffer;
    }
  /** A line in the middle that is not a record: the file is damaged. `cursor.line` is its number. */
  | { readonly kind: 'unreadable'; readonly why: string; readonly cursor: JournalPosition };

export const beginning: JournalPosition = { offset: 0, line: 0, epoch: 0 };

/** Yields the records of a journal from a cursor on, with one line in memory at a time. Dropped are a torn end (a last line
 *  that is not JSON, or has no line end, or both in a row) and records that an earlier owner wrote after a later one, which
 *  `late` receives. A path without a plain file has no records. To follow a growing journal, read again from the last
 *  entry's cursor. */
export async function* readJournal(
  path: string,
  from: JournalPosition = beginning,
  late: (line: JournalPosition) => void = () => {},
): AsyncGenerator<JournalEntry> {
  let { epoch } = from;
  // A damaged line is reported only if a whole line follows it: the last writes may have reached the disk in any order.
  let trouble: JournalEntry | undefined;
  for (const line of journalLines(path, from)) {
    if (!line.whole) return;
    if (trouble !== undefined) yield trouble;
    trouble = undefined;
    const read = readLine(line.bytes);
    if ('why' in read) {
      trouble = { kind: 'unreadable', why: read.why, cursor: { offset: line.end, line: line.number, epoch } };
      continue;
    }
    const its = numberOf(read.record['epoch']) ?? epoch;
    if (its < epoch) {
      late({ offset: line.end, line: line.number, epoch: its });
      continue;
    }
    epoch = its;
    const cursor = { offset: line.end, line: line.number, epoch };
    yield { kind: 'record', record: read.record, cursor, bytes: line.bytes };
  }
}

/** The whole journal at once: its records, and its damaged lines (empty in a sound file). */
export async function readRecords(path: string): Promise<{
  readonly records: JsonObject[];
  readonly unreadable: { readonly line: number; readonly why: string }[];
}> {
  const records: JsonObject[] = [];
  const unreadable: { line: number; why: string }[] = [];
  for await (const entry of readJournal(path)) {
    if (entry.kind === 'record') records.push(entry.record);
    else unreadable.push({ line: entry.cursor.line, why: entry.why });
  }
  return { records, unreadable };
}

/** Where a writer continues: the end of the last whole record, and what of the journal precedes it. */
export type JournalEnd = {
  readonly bytes: number;
  readonly torn: boolean;
  readonly seq: number;
  readonly epoch: number;
  readonly chain: LineChain;
};

/** Reads a journal to its end. */
export function scan(path: string): JournalEnd {
  const chain = new LineChain();
  let [end, seq, epoch, size, lastStart] = [0, 0, 0, 0, 0];
  let lastIsRecord = true;
  for (const line of journalLines(path)) {
    size = line.end;
    if (!line.whole) break;
    lastStart = end;
    end = line.end;
    const read = readLine(line.bytes);
    lastIsRecord = !('why' in read);
    if ('why' in read) continue;
    epoch = Math.max(epoch, numberOf(read.record['epoch']) ?? 0);
    seq = Math.max(seq, numberOf(read.record['seq']) ?? 0);
    chain.add(line.bytes, numberOf(read.record['seq']) ?? seq, numberOf(read.record['epoch']) ?? epoch);
  }
  if (!lastIsRecord) end = lastStart;
  return { bytes: end, torn: end < size, seq, epoch, chain };
}

/** A cursor at the beginning of a line, about that many bytes before the end; undefined for a file that is not longer. Its line
 *  number is unknown: lines are counted from it on. */
export function cursorNearEnd(path: string, bytes: number): JournalPosition | undefined {
  const file = openIfFile(path);
  if (file === undefined) return undefined;
  try {
    const from = fstatSync(file).size - bytes;
    if (from <= 0) return undefined;
    const piece = Buffer.alloc(Math.min(bytes, chunkBytes));
    const end = piece.subarray(0, readSync(file, piece, 0, piece.length, from)).indexOf(10);
    return end === -1 ? undefined : { offset: from + end + 1, line: 0, epoch: 0 };
  } finally {
    closeSync(file);
  }
}

type Line = {
  readonly bytes: Buffer;
  /** 1-based in the file. */
  readonly number: number;
  /** Offset after the line and its line end. */
  readonly end: number;
  /** False for bytes after the last line end. */
  readonly whole: boolean;
};

/** Bytes read at once. */
const chunkBytes = 1 << 16;
/** Pieces of one line, which is held in memory. */
const mostPending = 4096;

/** The lines of a file from a cursor on, one in memory at a time; what is not a plain file has none. Throws a DiskStop for a
 *  line that is too long for any writer. */
export function* journalLines(path: string, from: JournalPosition = beginning): Generator<Line> {
  let pending: Buffer[] = [];
  let end = from.offset;
  let number = from.line;
  const file = openIfFile(path);
  if (file === undefined) return;
  try {
    for (let read = from.offset; ; ) {
      // A new buffer each time: lines are views of it.
      const buffer = Buffer.allocUnsafe(chunkBytes);
      const bytes = buffer.subarray(0, readSync(file, buffer, 0, chunkBytes, read));
      if (bytes.length === 0) break;
      read += bytes.length;
      let at = 0;
      for (let stop = bytes.indexOf(10, at); stop !== -1; stop = bytes.indexOf(10, at)) {
        const rest = bytes.subarray(at, stop);
        const line = pending.length === 0 ? rest : Buffer.concat([...pending, rest]);
        pending = [];
        end += line.length + 1;
        number += 1;
        at = stop + 1;
        yield { bytes: line, number, end, whole: true };
      }
      if (at < bytes.length) pending.push(bytes.subarray(at));
      if (pending.length > mostPending)
        throw new DiskStop(
          `${path}: line ${number + 1} has more than ${(mostPending * chunkBytes) >> 20} MiB, which no run writes`,
          'put back a copy of the file if there is one, else start a new run',
          Object.assign(new Error('line too long'), { code: 'EFBIG', path }),
        );
    }
  } catch (error) {
    throw named(path, error);
  } finally {
    closeSync(file);
  }
  if (pending.length === 0) return;
  const rest = Buffer.concat(pending);
  yield { bytes: rest, number: number + 1, end: end + rest.length, whole: false };
}

/** Undefined if there is no plain file: opening a pipe would block. */
function openIfFile(path: string): number | undefined {
  try {
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    return undefined;
  } catch (error) {
    if (isMissing(error) || isCode(error, 'ENXIO', 'ELOOP')) return undefined;
    throw error;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function readLine(bytes: Buffer): { readonly record: JsonObject } | { readonly why: string } {
  try {
    const value = parseJson(utf8.decode(bytes));
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { why: 'is JSON, but not an object' };
    // JSON.parse yields only Json.
    return { record: value as JsonObject };
  } catch (error) {
    return { why: `is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined;
