/** Append-only journals (`visits.jsonl`, `events.jsonl`, `trace.jsonl`, …): one JSON object a line, in the order things
 *  happened. */
import { closeSync, constants, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Mark } from '../model/mark.ts';
import { about, named } from '../system/disk-trouble.ts';
import { beforeWrite, Superseded } from '../system/fence.ts';
import { isCode, makeFolder, syncFolder } from '../system/files.ts';
import { scan } from './journal-read.ts';

export { type Cursor, type JournalEntry, readJournal, readRecords } from './journal-read.ts';

export type JournalOptions = {
  readonly runId: string;
  /** Which owner of the run writes: a later one has a higher number. */
  readonly epoch: number;
  /** Whether `flush` goes to the disk. Default true. */
  readonly sync?: boolean;
};

export interface Journal {
  /** Adds `seq`, `run_id` and `epoch`, writes the line as a whole and answers its `seq` (1 is the first of a file).
   *  Throws when it cannot be written; nothing of the line is left then. */
  append(record: object): number;
  /** Settles when all that was appended is on the disk (fdatasync); rejects when that fails, and ever after: what was
   *  lost then stays lost, though the system reports it only once. */
  flush(): Promise<void>;
  /** The hash of all that stands in the file, and of as much of it as is known to be on the disk. */
  marks(): { readonly written: Mark; readonly flushed: Mark };
  /** Flushes and closes. Closing twice does nothing. */
  close(): Promise<void>;
}

const datasync = (file: number): Promise<void> =>
  new Promise((settle, reject) => fdatasync(file, (error) => (error === null ? settle() : reject(error))));

/** Something that is open, whose `close` does nothing the second time. */
export type Closing = { close(): Promise<void> | void };

/** Settles when all of them are open. Where one cannot be opened, the others are closed before this rejects. */
export async function allOpen<const T extends readonly Promise<Closing>[]>(opening: T) {
  try {
    return await Promise.all(opening);
  } catch (error) {
    const opened = await Promise.allSettled(opening);
    await closeAll(opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
    throw error;
  }
}

/** Closes those that are open still. Rejects never: for a clean-up while another error is on its way, which says more
 *  than one of this would. */
export async function closeAll(all: Iterable<Closing>): Promise<void> {
  for (const one of all) {
    try {
      await one.close();
    } catch {}
  }
}

/** Opens a journal for appending; file and folder are made. A torn last line, left by a crash, is cut off, and `seq`
 *  goes on after the last whole record. Rejects when a later owner has written already: readers would
 *  ignore what we append. */
export async function openJournal(path: string, options: JournalOptions): Promise<Journal> {
  const { runId, epoch } = options;
  makeFolder(dirname(path));
  const before = await scan(path);
  if (before.epoch > epoch) {
    // Our own fence says who it is, where there is one.
    beforeWrite(path);
    throw new Superseded(
      `${path}: epoch ${before.epoch} has written here, and ours is only ${epoch}; another process owns this run`,
    );
  }
  beforeWrite(path);
  const file = openToAppend(path);
  let seq = before.seq;
  const { chain } = before;
  let flushed: Mark = { records: 0, sha256: '' };
  let dirty = false;
  let lost: unknown;
  let open = true;
  try {
    beforeWrite(path);
    if (before.torn) ftruncateSync(file, before.end);
    if (options.sync !== false) await syncFolder(dirname(path));
  } catch (error) {
    closeSync(file);
    throw named(path, error);
  }

  const flushNow = async (): Promise<void> => {
    if (lost !== undefined) throw lost;
    if (!dirty) return;
    dirty = false;
    const written = chain.mark();
    try {
      if (options.sync !== false) await about(path, datasync(file));
      flushed = written;
    } catch (error) {
      lost = error;
      throw error;
    }
  };
  // One after another: who finds nothing left to flush must still wait for the flush that is under way, and so must
  // who closes the file.
  let last: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => {
    last = last.then(flushNow, flushNow);
    return last;
  };
  return {
    append(record) {
      if (!open) throw new Error(`Internal: ${path} is closed`);
      const stamped = { ...record, run_id: runId, seq: seq + 1, epoch };
      const line = Buffer.from(`${JSON.stringify(stamped)}\n`);
      let written = 0;
      beforeWrite(path);
      try {
        while (written < line.length) written += writeSync(file, line, written);
      } catch (error) {
        // Half a line would spoil the next one.
        if (written > 0) ftruncateSync(file, fstatSync(file).size - written);
        throw new Error(`cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: named(path, error),
        });
      }
      seq += 1;
      chain.add(line.subarray(0, -1), seq, epoch);
      dirty = true;
      return seq;
    },
    flush,
    marks: () => ({ written: chain.mark(), flushed }),
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

/** To open a pipe would wait for its reader, and all of us with it: a stage that nothing confines may have put one there. */
function openToAppend(path: string): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
  // The disk will not have what shall be written there.
  const noFile = () => Object.assign(new Error(`${path} is no file`), { code: 'EPERM', path });
  let file: number;
  try {
    file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o644);
  } catch (error) {
    throw isCode(error, 'EISDIR', 'ENXIO', 'ELOOP') ? noFile() : error;
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw noFile();
}
