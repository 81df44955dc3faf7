/** Append-only journals (`journal.jsonl`, `spent.jsonl`): one JSON object a line, in the order things happened. */
import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { JournalMark } from '../core/records/checkpoint.ts';
import { about, named } from '../platform/files/disk-error.ts';
import { beforeWrite, Superseded } from '../platform/files/fence.ts';
import { isCode, makeFolder, syncFolder } from '../platform/files/write.ts';
import { type JournalEnd, scan } from './journal-read.ts';

export type JournalOptions = {
  readonly runId: string;
  /** Number of the run's owner that writes. */
  readonly epoch: number;
  /** Whether `flush` flushes to the disk. Default true. */
  readonly sync?: boolean;
  /** Each line gets the hash of all lines before it as its field `prev`. */
  readonly chained?: boolean;
};

export interface Journal {
  /** Adds `seq`, `run_id` and `epoch`, writes the line as a whole and answers its `seq` (1 is the first of a file).
   *  Throws if it cannot be written, and leaves no part of the line. */
  append(record: object): number;
  /** Settles when all appended lines are on the disk (fdatasync). After a failure it always rejects: the system reports lost
   *  data only once. */
  flush(): Promise<void>;
  /** The mark of the whole file. */
  mark(): JournalMark;
  /** Flushes and closes. Closing twice does nothing. */
  close(): Promise<void>;
}

const datasync = (file: number): Promise<void> =>
  new Promise((settle, reject) => fdatasync(file, (error) => (error === null ? settle() : reject(error))));

/** An open resource; a second `close` does nothing. */
export type Closing = { close(): Promise<void> | void };

/** Closes the open ones, the latest first. Never rejects: it cleans up after another error, which matters more. */
export async function closeAll(all: readonly Closing[]): Promise<void> {
  for (const one of all.toReversed()) {
    try {
      await one.close();
    } catch {}
  }
}

/** Opens a journal for appending; creates file and directory. What follows the end that was read, a torn last line, is
 *  removed, and `seq` continues after the last whole record. Rejects if a later owner has written: readers would drop our
 *  records. */
export async function openJournal(
  path: string,
  options: JournalOptions,
  before: JournalEnd = scan(path),
): Promise<Journal> {
  const { runId, epoch } = options;
  makeFolder(dirname(path));
  if (before.epoch > epoch) {
    // The fence names the owner, if there is one.
    beforeWrite(path);
    throw new Superseded(
      `${path}: epoch ${before.epoch} has written here, and ours is only ${epoch}; another process owns this run`,
    );
  }
  beforeWrite(path);
  const file = openToAppend(path);
  let seq = before.seq;
  const { chain } = before;
  let { bytes } = before;
  let dirty = false;
  let lost: unknown;
  let open = true;
  try {
    beforeWrite(path);
    if (before.torn) ftruncateSync(file, bytes);
    if (options.sync !== false) await syncFolder(dirname(path));
  } catch (error) {
    closeSync(file);
    throw named(path, error);
  }

  const flushNow = async (): Promise<void> => {
    if (lost !== undefined) throw lost;
    if (!dirty) return;
    dirty = false;
    try {
      if (options.sync !== false) await about(path, datasync(file));
    } catch (error) {
      lost = error;
      throw error;
    }
  };
  // One after another: a flush without new lines, and a close, still wait for the running flush.
  let last: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => {
    last = last.then(flushNow, flushNow);
    return last;
  };
  return {
    append(record) {
      if (!open) throw new Error(`Internal: ${path} is closed`);
      const prev = options.chained === true ? { prev: chain.mark().sha256 } : {};
      const stamped = { ...record, run_id: runId, seq: seq + 1, epoch, ...prev };
      const line = appendLine(file, path, stamped);
      seq += 1;
      bytes += line.length;
      chain.add(line.subarray(0, -1), seq, epoch);
      dirty = true;
      return seq;
    },
    flush,
    mark: () => ({ ...chain.mark(), bytes }),
    async close() {
      if (!open) return;
      open = false;
      try {
        await flush();
      } finally {
        closeSync(file);
      }
    },
  };
}

/** Appends one line as a whole, and answers its bytes. Throws if it cannot be written, and leaves no part of it. */
export function appendLine(file: number, path: string, record: object): Buffer {
  const line = Buffer.from(`${JSON.stringify(record)}\n`);
  let written = 0;
  beforeWrite(path);
  try {
    while (written < line.length) written += writeSync(file, line, written);
  } catch (error) {
    // Half a line would corrupt the next one.
    if (written > 0) ftruncateSync(file, fstatSync(file).size - written);
    throw new Error(`cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: named(path, error),
    });
  }
  return line;
}

/** For reading too. Opening a pipe would block; a node without a sandbox may have created one. */
export function openToAppend(path: string): number {
  const { O_RDWR, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  // Data written to it would not reach the disk.
  const noFile = () => Object.assign(new Error(`${path} is no file`), { code: 'EPERM', path });
  let file: number;
  try {
    file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0o644);
  } catch (error) {
    throw isCode(error, 'EISDIR', 'ENXIO', 'ELOOP') ? noFile() : error;
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw noFile();
}
