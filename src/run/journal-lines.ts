/** The lines of a run's journal that count. */
import { statSync } from 'node:fs';
import type { JsonObject } from '../core/json.ts';
import type { JournalMark } from '../core/records/checkpoint.ts';
import { type JournalLine, journalLineSchema } from '../core/records/journal.ts';
import { journalVersion } from '../core/records/visit.ts';
import { DiskStop } from '../platform/files/disk-error.ts';
import { linkOf } from './chain.ts';
import { beginning, cursorNearEnd, type JournalPosition, journalLines, readLine } from './journal-read.ts';
import { otherVersion, schemaProblems, type Unreadable, unreadableFile } from './unreadable.ts';

/** A line of the journal, with the hash and the length of the journal up to it. */
export type MarkedLine = { readonly line: JournalLine; readonly mark: JournalMark };

/** The lines that count; `late`: numbers of lines that an owner wrote while a later one had the run. */
export type CountedLines = { readonly marked: readonly MarkedLine[]; readonly late: readonly number[] };

/** What was read of a journal, up to a cursor after a line that counts or is late. */
type Part = { readonly marked: MarkedLine[]; readonly late: number[]; readonly end: JournalPosition };

/** The fix for a run whose journal is damaged or lost. */
export const orPutBack = 'put back a copy of the file if there is one, else start a new run';

/** Reads a journal; again, only what was appended to it. A torn end is left out: whatever follows the last line that was flushed
 *  may be torn. Refuses a journal in which a line was changed or removed before that, and one of an earlier version. */
export class JournalLines {
  private part: Part | undefined;
  private latest:
    | { readonly is: Identity | undefined; readonly answer: CountedLines | Unreadable }
    | undefined;

  /** `written`: an earlier mark of the journal, by who wrote the lines up to it. If their hash is still that one they are what
   *  was written, and only the lines after it are checked against the schema. */
  constructor(
    private readonly path: string,
    private readonly written: () => JournalMark | undefined,
  ) {}

  /** The same answer as before while the file is the same. */
  read(): CountedLines | Unreadable {
    const is = identityOf(this.path);
    const was = this.latest?.is;
    if (this.latest !== undefined && is !== undefined && was?.file === is.file && was.state === is.state)
      return this.latest.answer;
    const part = this.orRefused(is?.file === was?.file && (is?.size ?? 0n) > (was?.size ?? 0n));
    this.part = 'why' in part ? undefined : part;
    const answer = 'why' in part ? part : { marked: [...part.marked], late: [...part.late] };
    this.latest = { is, answer };
    return answer;
  }

  /** A line that no run writes makes one run unreadable, and stops nothing that reads others as well. */
  private orRefused(hasGrown: boolean): Part | Unreadable {
    try {
      return (hasGrown ? this.appended() : undefined) ?? this.whole();
    } catch (error) {
      if (error instanceof DiskStop) return unreadableFile(error.message, error.fix);
      throw error;
    }
  }

  /** Undefined where nothing was read before that it could continue. */
  private appended(): Part | undefined {
    if (this.part === undefined || this.part.marked.length === 0) return undefined;
    const read = readPart(this.path, this.part, 0);
    return 'why' in read ? undefined : read;
  }

  private whole(): Part | Unreadable {
    const mark = this.written();
    const read = mark && readPart(this.path, { marked: [], late: [], end: beginning }, mark.bytes);
    if (mark !== undefined && read !== undefined && 'marked' in read && isAmong(read.marked, mark))
      return read;
    return readPart(this.path, { marked: [], late: [], end: beginning }, 0);
  }
}

/** The lines near the end of a journal of more than `bytes`, oldest first: undefined unless each follows the one before it and one of
 *  them is the line of `written`, which ends with the hash of all before it. What is before the first one was not looked at. */
export function linesNearEnd(
  path: string,
  bytes: number,
  written: JournalMark,
): readonly MarkedLine[] | undefined {
  const from = cursorNearEnd(path, bytes);
  if (from === undefined) return undefined;
  const marked: MarkedLine[] = [];
  for (const { bytes: text, end, whole } of journalLines(path, from)) {
    const read = whole ? readLine(text) : undefined;
    if (read === undefined || 'why' in read) return undefined;
    const line = end <= written.bytes ? stampedLine(read.record) : checkedLine(read.record);
    if ('why' in line || 'problems' in line) return undefined;
    // Of the first one the hash before it is taken as it says.
    if (marked.length === 0)
      marked.push({ line, mark: { records: line.seq, sha256: linkOf(line.prev, text), bytes: end } });
    else if (add(marked, line, text, end) !== undefined) return undefined;
  }
  return isAmong(marked, written) ? marked : undefined;
}

const isAmong = (marked: readonly MarkedLine[], { bytes, sha256 }: JournalMark): boolean =>
  marked.some(({ mark }) => mark.bytes === bytes && mark.sha256 === sha256);

/** `state` changes with every write. */
type Identity = { readonly file: string; readonly state: string; readonly size: bigint };

/** Undefined for what is no file. */
function identityOf(path: string): Identity | undefined {
  try {
    const is = statSync(path, { bigint: true });
    const { dev, ino, size, mtimeNs, ctimeNs } = is;
    return is.isFile() ? { file: `${dev} ${ino}`, state: `${size} ${mtimeNs} ${ctimeNs}`, size } : undefined;
  } catch {
    return undefined;
  }
}

/** Reads on after `before`, whose lists it continues. Lines up to byte `checked` are not checked against the schema. */
function readPart(path: string, before: Part, checked: number): Part | Unreadable {
  const { marked, late } = before;
  let { end } = before;
  let trouble: string | undefined;
  const refused = (what: string, fix = orPutBack) => unreadableFile(`${path} ${what}`, fix);
  for (const { bytes, number, end: offset, whole } of journalLines(path, end)) {
    if (!whole) break;
    const read = readLine(bytes);
    if ('why' in read) {
      trouble ??= `is damaged: line ${number} ${read.why}`;
      continue;
    }
    // What follows the last flushed line may be torn in any way.
    if (trouble !== undefined) {
      if (isFlushed(read.record)) return refused(trouble);
      continue;
    }
    const line = offset <= checked ? stampedLine(read.record) : checkedLine(read.record);
    if ('why' in line) return refused(`${line.why}: line ${number}`, line.fix);
    if ('problems' in line)
      return refused(`has a line ${number} that is no record of this version (${line.problems})`);
    const wrong = add(marked, line, bytes, offset);
    if (wrong === 'late') late.push(number);
    else if (wrong !== undefined) return refused(`was changed: line ${number} ${wrong}`);
    end = { offset, line: number, epoch: line.epoch };
  }
  return { marked, late, end };
}

type NoLine = { readonly why: string; readonly fix: string } | { readonly problems: string };

function checkedLine(record: JsonObject): JournalLine | NoLine {
  const line = journalLineSchema().safeParse(record);
  if (line.success) return line.data;
  const other = otherVersion(record, journalVersion);
  return other === undefined ? { problems: schemaProblems(line.error) } : { why: other.what, fix: other.fix };
}

/** A line that has what its place in the journal depends on. */
function stampedLine(record: JsonObject): JournalLine | NoLine {
  const { schema_version: version, seq, epoch, prev } = record;
  const isStamped =
    version === journalVersion &&
    typeof seq === 'number' &&
    typeof epoch === 'number' &&
    typeof prev === 'string';
  return isStamped ? (record as JournalLine) : checkedLine(record);
}

/** Adds a line, or answers why it does not follow the one before. */
function add(marked: MarkedLine[], line: JournalLine, bytes: Buffer, end: number): string | undefined {
  if (line.epoch < 1) return 'belongs to no owner of the run';
  let last = marked.at(-1);
  if (last !== undefined && line.epoch < last.line.epoch) return 'late';
  // An owner that lost the run may have written more lines: the next owner's replace them.
  for (
    ;
    last !== undefined && line.epoch > last.line.epoch && line.seq <= last.line.seq;
    last = marked.at(-1)
  )
    marked.pop();
  const { sha256 = '', records = 0 } = last?.mark ?? {};
  if (line.seq !== records + 1) return `is number ${line.seq}, not ${records + 1}`;
  if (line.prev !== sha256) return 'does not have the hash of the lines before it';
  if ((line.type === 'Start') !== (records === 0)) return `is a ${line.type} record where none belongs`;
  marked.push({ line, mark: { records: line.seq, sha256: linkOf(sha256, bytes), bytes: end } });
  return undefined;
}

/** Whether a line is on the disk, with all before it, before its writer continues. */
export const isFlushed = ({ type }: { readonly type?: unknown }): boolean =>
  type === 'Start' ||
  type === 'Visit' ||
  type === 'BranchStopped' ||
  type === 'Stopped' ||
  type === 'Resumed';
