/** The files behind a program's standard streams. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  rmSync,
  unlinkSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { maskStream } from '../../core/policy/mask.ts';
import { beforeWrite } from '../files/fence.ts';
import { isCode, removeNow } from '../files/write.ts';

const writeTo = promisify(write);
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A device, or a name that the system reserves for a stream; `/dev/shm` is an ordinary folder. */
const isDevice = (path: string): boolean => path.startsWith('/dev/') && !path.startsWith('/dev/shm/');

/** Opens a new, empty output file. An existing one is removed, not truncated: a node may have replaced it with a
 *  symbolic link that leads elsewhere, a pipe without a reader, or a folder. A device is opened directly. */
export function openOutput(path: string): number {
  // Append mode keeps every line when a program reopens the file (`/dev/stderr`) or both streams share it.
  if (isDevice(path)) return openSync(path, O_WRONLY | O_APPEND);
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW;
  try {
    return openSync(path, flags, 0o644);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  }
  removeNow(path);
  return openSync(path, flags, 0o644);
}

/** An unlinked file that holds `text`, open for reading: a program that reads it gets the text and end of file, and
 *  one that does not read it blocks nothing. */
export function nameless(text: string | Buffer, folder: string): number {
  const path = join(folder, `.stdin.${randomBytes(6).toString('hex')}.tmp`);
  writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  try {
    return openSync(path, O_RDONLY);
  } finally {
    unlinkSync(path);
  }
}

export type Pipe = { readonly reader: number; readonly writer: number };

// Creating a pipe needs a separate program, so several are created at a time. They are unlinked.
const spare: Pipe[] = [];
const atATime = 16;

/** Two real pipes, or undefined where `mkfifo` does not work. The pipes that Node creates are sockets, and a
 *  program that opens `/dev/stderr` fails on a socket. They have names for a moment, in the folder `near`, which is
 *  cleaned up after a kill; in another folder only where the file system of `near` has no pipes. */
export async function realPipes(near: string): Promise<readonly [Pipe, Pipe] | undefined> {
  for (const folder of [near, tmpdir()]) if (spare.length < 2) spare.push(...(await makePipes(folder)));
  const [first, second] = spare.splice(0, 2);
  return first === undefined || second === undefined ? undefined : [first, second];
}

async function makePipes(near: string): Promise<readonly Pipe[]> {
  beforeWrite(near);
  let folder: string | undefined;
  const made: Pipe[] = [];
  const ends: number[] = [];
  const opened = (path: string, flags: number): number => {
    const end = openSync(path, flags);
    ends.push(end);
    return end;
  };
  try {
    folder = mkdtempSync(join(near, '.pipes-'));
    const paths = Array.from({ length: atATime }, (_, n) => join(folder ?? '', String(n)));
    await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
    for (const path of paths) {
      const reader = opened(path, O_RDONLY | O_NONBLOCK);
      made.push({ reader, writer: opened(path, O_WRONLY) });
    }
    rmSync(folder, { recursive: true });
    // Some file systems (FUSE) do not recognise an unlinked pipe, so a reader could not learn its type.
    for (const end of ends) if (!fstatSync(end).isFIFO()) throw new Error('no pipe');
    return made;
  } catch {
    for (const end of ends) closeSync(end);
    return [];
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

export const pipeReader = (fd: number): Readable => new Socket({ fd, readable: true, writable: false });

/** Copies a stream into a file, masked, with at most one chunk in memory. */
export interface MaskingCopy {
  /** Rejects as soon as the file cannot be written; never settles otherwise. */
  readonly broken: Promise<never>;
  /** Reads what is still in the pipe and settles when the file is complete. Does not wait for the end of the
   *  stream: a process that escaped may hold it open. */
  finish(): Promise<void>;
}

/** A pipe's capacity. A program that still writes after its node has ended is read no further. */
const mostAfterEnd = 4 * 1024 * 1024;

/** How long, in milliseconds, the pipe collects a slow stream: reading each of a thousand lines a second separately
 *  would cost more than processing them. A stream is not slow right after the pipe was full, or while it delivers
 *  this many bytes per interval, however small the pieces are. */
const gatheringMs = 40;
const muchAtOnce = 48 * 1024;
const windowMs = 20;
const muchInWindow = 256 * 1024;

/** How a stream is processed: values masked, a listener called, the file limited to `most` bytes. */
export type Copying = {
  readonly values: readonly string[];
  readonly heardBy?: ((bytes: Buffer) => void) | undefined;
  readonly most?: number | undefined;
  /** Called at the end if a value was masked. */
  readonly onMasked?: (() => void) | undefined;
};

export const copyMasked = (source: Readable, file: number, how: Copying): MaskingCopy =>
  new StreamCopy(source, file, how);

class StreamCopy implements MaskingCopy {
  readonly broken: Promise<never>;
  readonly #source: Readable;
  readonly #file: number;
  readonly #how: Copying;
  readonly #masker: ReturnType<typeof maskStream>;
  readonly #kept: ReturnType<typeof headAndTail>;
  #received = 0;
  #writing = false;
  #over = false;
  #finishing = false;
  #failure: { readonly error: unknown } | undefined;
  #breaks: (error: unknown) => void = () => {};
  #flowsUntil = 0;
  #window = { from: 0, bytes: 0 };
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Readable, file: number, how: Copying) {
    this.#source = source;
    this.#file = file;
    this.#how = how;
    this.#masker = maskStream(how.values);
    this.#kept = headAndTail(how.most ?? Number.POSITIVE_INFINITY);
    this.broken = new Promise<never>((_, reject) => {
      this.#breaks = reject;
    });
    this.broken.catch(() => {});
    source.on('data', (chunk: Buffer) => this.#take(chunk));
    const over = () => {
      this.#over = true;
    };
    // A read error only means that the other side closed the pipe abnormally.
    for (const event of ['end', 'close', 'error']) source.once(event, over);
  }

  async finish(): Promise<void> {
    const most = this.#received + mostAfterEnd;
    this.#finishing = true;
    clearTimeout(this.#timer);
    if (!this.#writing) this.#source.resume();
    let before = this.#received;
    for (let quiet = 0; !this.#over && quiet < 3 && this.#received < most; before = this.#received) {
      await turn();
      quiet = this.#writing || this.#received !== before ? 0 : quiet + 1;
    }
    while (this.#writing && this.#failure === undefined) await turn();
    this.#source.removeAllListeners('data');
    this.#source.destroy();
    if (this.#failure !== undefined) throw this.#failure.error;
    await writeAll(this.#file, this.#kept.push(this.#hear(this.#masker.end())));
    if (this.#masker.found) this.#how.onMasked?.();
    await writeAll(this.#file, this.#kept.end());
  }

  #take(chunk: Buffer): void {
    this.#received += chunk.length;
    this.#source.pause();
    const bytes = this.#kept.push(this.#hear(this.#masker.push(chunk)));
    if (this.#trickles(chunk.length)) {
      // A small synchronous write is cheaper than the thread pool.
      try {
        for (let from = 0; from < bytes.length; ) from += writeSync(this.#file, bytes, from);
        this.#timer = setTimeout(() => this.#source.resume(), gatheringMs);
      } catch (error) {
        this.#fail(error);
      }
      return;
    }
    this.#writing = true;
    writeAll(this.#file, bytes).then(
      () => {
        this.#writing = false;
        this.#source.resume();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  #hear(bytes: Buffer): Buffer {
    try {
      if (bytes.length > 0) this.#how.heardBy?.(bytes);
    } catch {
      // A failing listener must not break the stream.
    }
    return bytes;
  }

  /** Whether the stream is so slow that the pipe should collect it. */
  #trickles(bytes: number): boolean {
    const now = performance.now();
    const window = this.#window;
    window.bytes += bytes;
    const much = bytes >= muchAtOnce || window.bytes >= muchInWindow;
    if (much) this.#flowsUntil = now + windowMs;
    if (much || now >= window.from + windowMs) this.#window = { from: now, bytes: 0 };
    return now >= this.#flowsUntil && !this.#finishing;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#over = true;
    this.#source.destroy();
    this.#breaks(error);
  }
}

/** Lets the event loop poll its descriptors once. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function writeAll(file: number, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; ) from += (await writeTo(file, bytes, from)).bytesWritten;
}

/** The folder for an unlinked file of a program whose output goes to `outputFile`. */
export const scratchFor = (outputFile: string): string =>
  isDevice(outputFile) ? tmpdir() : dirname(outputFile);

/** Keeps the head and the tail of a byte stream of any length, and counts the bytes between. */
export interface HeadAndTail {
  /** Takes bytes; returns those of the head, to be written immediately. */
  push(chunk: Buffer): Buffer;
  /** What follows the head: a note where bytes were left out, and the tail. */
  end(): Buffer;
}

/** The tail is held in memory, so it is the smaller part. */
const longestTail = 1024 * 1024;

/** Keeps at most `most` bytes, plus the note. With `Infinity` every byte belongs to the head. */
export function headAndTail(most: number): HeadAndTail {
  const tailMost = Math.min(longestTail, Math.floor(most / 4));
  let room = most - tailMost;
  // A ring buffer: however large the chunks are, only the tail is held.
  let ring: Buffer | undefined;
  let received = 0;
  const keep = (bytes: Buffer): void => {
    ring ??= Buffer.alloc(tailMost);
    const last = bytes.subarray(Math.max(0, bytes.length - tailMost));
    received += bytes.length;
    if (tailMost === 0) return;
    const at = (received - last.length) % tailMost;
    const first = last.copy(ring, at);
    last.copy(ring, 0, first);
  };
  return {
    push(chunk) {
      const head = chunk.subarray(0, Math.min(room, chunk.length));
      room -= head.length;
      if (head.length < chunk.length) keep(chunk.subarray(head.length));
      return head;
    },
    end() {
      if (ring === undefined) return Buffer.alloc(0);
      const out = received - tailMost;
      if (out <= 0) return ring.subarray(0, received);
      const at = received % Math.max(1, tailMost);
      const note = `\n[… ${out} bytes left out: more than ${most} bytes were written …]\n`;
      return Buffer.concat([Buffer.from(note), ring.subarray(at), ring.subarray(0, at)]);
    },
  };
}
