/** `.live.jsonl`: what running nodes print and their models say. Written by the run's owner, read by those who watch from
 *  another process. It is no record: it is not flushed, has no hash, and goes with the run's end. */
import { closeSync, constants, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import type { Clock, Every } from '../core/contracts/clock.ts';
import type { Watcher } from '../core/contracts/watcher.ts';
import { layout } from '../core/records/layout.ts';
import { type LiveText, liveTextSchema } from '../core/records/live.ts';
import { realEvery } from '../platform/clock.ts';
import { beforeWrite, mayWrite } from '../platform/files/fence.ts';
import { removeFile, removeNow } from '../platform/files/write.ts';
import type { Closing } from './journal.ts';
import { readLine } from './journal-read.ts';
import { openLiveSessions, removeLiveSessions } from './live-sessions.ts';

/** Milliseconds for which pieces of an answer are collected. */
const gatherMs = 250;
/** Bytes; after that many a new file begins, with the newest texts. */
const mostBytes = 4 * 1024 * 1024;

/** Bytes that are read at once: a file of the greatest length, and its last piece. */
const mostAhead = 8 * mostBytes;

type Piece = Pick<LiveText, 'node' | 'visit' | 'channel' | 'text'>;

/** An execution that has begun. */
type Shown = { readonly visit: number; isOver: boolean };

export interface LiveTexts extends Closing {
  /** A watcher that also writes the texts that `watcher` is shown. */
  watching(watcher: Watcher): Watcher;
}

/** Opens the live texts of a run for its owner; removes those of an earlier owner. */
export function openLiveTexts(
  runDir: string,
  clock: Pick<Clock, 'now'>,
  every: Every = realEvery,
): LiveTexts {
  const path = layout(runDir).live;
  removeLiveTexts(runDir);
  const file = new ReplacedFile(path);
  const sessions = openLiveSessions(runDir);
  /** By node: in branches several are executed at the same time. */
  const shown = new Map<string, Shown>();
  let pieces: Piece[] = [];
  let stop: (() => void) | undefined;
  const flush = (): void => {
    stop?.();
    stop = undefined;
    const at = clock.now().toISOString();
    const lines = pieces.map((piece): LiveText => ({ at, ...piece }));
    pieces = [];
    if (lines.length > 0) file.append(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  };
  const add = (node: string, channel: Piece['channel'], text: string): void => {
    const visit = shown.get(node)?.visit;
    if (visit === undefined) return;
    const at = pieces.findLastIndex((piece) => piece.node === node);
    const last = pieces[at];
    if (last?.channel !== channel) pieces.push({ node, visit, channel, text });
    else pieces[at] = { ...last, text: last.text + text };
    stop ??= every(gatherMs, flush);
  };
  const begin = (node: string, visit: number): void => {
    for (const [other, { visit: earlier, isOver }] of shown) {
      if (!isOver && other !== node) continue;
      sessions.end({ node: other, visit: earlier });
      shown.delete(other);
    }
    if (shown.size === 0) {
      // What an execution has said too late for a flush is in its artifacts.
      stop?.();
      stop = undefined;
      pieces = [];
      file.end();
    }
    shown.set(node, { visit, isOver: false });
  };
  const watching = (watcher: Watcher): Watcher => ({
    event(event) {
      watcher.event(event);
      if (event.type === 'StageStarted') begin(event.node_id, event.visit);
      if (event.type !== 'StageCompleted' && event.type !== 'StageFailed') return;
      const over = shown.get(event.node_id);
      if (over !== undefined) over.isOver = true;
    },
    streamed(node, text, channel) {
      add(node, channel, text);
      watcher.streamed(node, text, channel);
    },
    output(node, text, channel) {
      add(node, channel, text);
      // It was collected by who has read it.
      flush();
      watcher.output(node, text, channel);
    },
    session(node, line) {
      const visit = shown.get(node)?.visit;
      if (visit !== undefined) add(node, 'session', `${sessions.add({ node, visit }, line)}\n`);
      watcher.session?.(node, line);
    },
    spent: (node, usage) => watcher.spent(node, usage),
  });
  return {
    watching,
    close() {
      stop?.();
      file.end();
      sessions.close();
      if (mayWrite(path)) removeFile(path);
    },
  };
}

/** Removes what a killed owner has left, sessions too. */
export function removeLiveTexts(runDir: string): void {
  const path = layout(runDir).live;
  beforeWrite(path);
  removeFile(path);
  removeLiveSessions(runDir);
}

/** A file that is replaced by the first text after each `end`. */
class ReplacedFile {
  readonly #path: string;
  #file: number | undefined;
  #bytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** A text that cannot be written is lost: it is for people who watch, and the run does not depend on it. */
  append(text: string): void {
    // A timer calls this: another owner is noticed by the run itself.
    if (!mayWrite(this.#path)) return;
    try {
      if (this.#bytes > mostBytes) this.end();
      this.#file ??= this.#opened();
      this.#bytes += writeSync(this.#file, text);
    } catch {
      this.end();
    }
  }

  end(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#bytes = 0;
  }

  #opened(): number {
    removeNow(this.#path);
    const { O_WRONLY, O_APPEND, O_CREAT, O_EXCL } = constants;
    return openSync(this.#path, O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0o644);
  }
}

/** A live text from the file; `begins` if it is the first of its execution, or of the newest part of a long one. */
export type ReadText = { readonly text: LiveText; readonly begins: boolean };

/** Reads live texts as they are written. */
export interface LiveTextReader {
  /** The texts since the last call; those of a new file only if `mayTurn` (the default). */
  read(mayTurn?: boolean): readonly ReadText[];
  /** The texts of the present file that `read` has given until now, once more, a piece of the file in memory at a time. It
   *  answers false where the file is replaced meanwhile: then texts are missing that are no longer needed. */
  again(): () => Generator<ReadText, boolean>;
  close(): void;
}

/** Keeps the file open: the end of a replaced one is still read. */
export function liveTextReader(runDir: string): LiveTextReader {
  const path = layout(runDir).live;
  let open: GrowingFile | undefined;
  const close = (): void => {
    open?.close();
    open = undefined;
  };
  return {
    read(mayTurn = true) {
      const rest = [...(open?.texts() ?? [])];
      if (!mayTurn || open?.is(path) === true) return rest;
      close();
      open = GrowingFile.open(path);
      return [...rest, ...(open?.texts() ?? [])];
    },
    again() {
      const end = open?.end ?? 0;
      const file = open;
      return function* () {
        return file === undefined || (yield* file.textsTo(end));
      };
    },
    close,
  };
}

/** Bytes of the file that are read again at once. */
const pieceBytes = 256 * 1024;

class GrowingFile {
  readonly #file: number;
  #isOpen = true;
  /** What is before it was left out. */
  #from = 0;
  #at = 0;
  #rest: Buffer = Buffer.alloc(0);
  readonly #lines = new TextLines();

  private constructor(file: number) {
    this.#file = file;
  }

  static open(path: string): GrowingFile | undefined {
    try {
      const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
      if (fstatSync(file).isFile()) return new GrowingFile(file);
      closeSync(file);
    } catch {}
    return undefined;
  }

  is(path: string): boolean {
    const found = statSync(path, { throwIfNoEntry: false });
    return found !== undefined && found.ino === fstatSync(this.#file).ino;
  }

  /** After the last whole line that was read. */
  get end(): number {
    return this.#at - this.#rest.length;
  }

  *texts(): Generator<ReadText> {
    const { size } = fstatSync(this.#file);
    // No owner writes that much: what is left out is no live text.
    if (size - this.#at > mostAhead) {
      this.#at = size;
      this.#from = size;
    }
    const bytes = Buffer.concat([this.#rest, this.#read(this.#at, size)]);
    this.#at += bytes.length - this.#rest.length;
    this.#rest = yield* this.#lines.in(bytes);
  }

  /** The texts up to `end` once more; false if the file was closed before. */
  *textsTo(end: number): Generator<ReadText, boolean> {
    const lines = new TextLines();
    let rest: Buffer = Buffer.alloc(0);
    for (let at = this.#from; at < end; ) {
      if (!this.#isOpen) return false;
      const piece = this.#read(at, Math.min(end, at + pieceBytes));
      if (piece.length === 0) return false;
      at += piece.length;
      rest = yield* lines.in(Buffer.concat([rest, piece]));
    }
    return true;
  }

  #read(from: number, to: number): Buffer {
    const piece = Buffer.alloc(Math.max(0, to - from));
    return piece.subarray(0, readSync(this.#file, piece, 0, piece.length, from));
  }

  close(): void {
    this.#isOpen = false;
    closeSync(this.#file);
  }
}

/** Takes lines of the file apart. */
class TextLines {
  /** Executions of which there was a text. */
  readonly #seen = new Set<string>();

  /** The texts in `bytes`; answers with what follows the last line end. */
  *in(bytes: Buffer): Generator<ReadText, Buffer> {
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      const line = readLine(bytes.subarray(from, end));
      from = end + 1;
      const text = 'record' in line ? liveTextSchema().safeParse(line.record).data : undefined;
      if (text === undefined) continue;
      const execution = `${text.node}@${text.visit}`;
      yield { text, begins: !this.#seen.has(execution) };
      this.#seen.add(execution);
    }
    return Buffer.from(bytes.subarray(from));
  }
}
