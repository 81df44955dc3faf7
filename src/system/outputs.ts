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
import { beforeWrite } from './fence.ts';
import { isCode, removeNow } from './files.ts';
import { headAndTail } from './head-and-tail.ts';
import { maskStream } from './mask.ts';

const writeTo = promisify(write);
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** A device, or a name that the system keeps for a stream; `/dev/shm` is a folder like any other. */
const isDevice = (path: string): boolean => path.startsWith('/dev/') && !path.startsWith('/dev/shm/');

/** Opens an output file, new and empty. What stood there before is taken away, not emptied: a stage may have put a link
 *  there that leads elsewhere, a pipe that nobody reads, or a folder. A device is opened as it is. */
export function openOutput(path: string): number {
  // Appending keeps every line when a program opens the file again (`/dev/stderr`) or both streams share it.
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

/** A file that holds `text` and has no name any more, open for reading: whoever reads it meets the end of file, and
 *  whoever does not read it disturbs nobody. */
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

// Making a pipe takes a program of its own, so they are made several at a time. They have no names any more.
const spare: Pipe[] = [];
const atATime = 16;

/** Real pipes, two of them, or undefined where `mkfifo` does not work. The pipes that Node makes are sockets, and a
 *  program that opens `/dev/stderr` fails on a socket. They have names for a moment, in the folder `near`, which somebody
 *  tidies who is there after a kill; elsewhere only where that one's disk can have no pipes. */
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
    // Some file systems (FUSE) know nothing any more of a pipe without a name: what it is could not be told to who reads.
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

/** Copies a stream into a file, masked, with no more in memory than one chunk. */
export interface MaskingCopy {
  /** Fails as soon as the file cannot be written; never settles otherwise. */
  readonly broken: Promise<never>;
  /** Takes what is still in the pipe and settles when the file is complete. Does not wait for the end of the stream:
   *  somebody who got away may hold it open. */
  finish(): Promise<void>;
}

/** A pipe holds no more than this; who goes on writing after its stage has ended is not listened to for ever. */
const mostAfterEnd = 4 * 1024 * 1024;

/** Where little comes at a time, the pipe gathers it this long, in milliseconds: a look at each of a thousand lines a
 *  second would cost more than all that is done with them. Right after a pipe was full, and as long as so many bytes come
 *  in a window of time without it, there is no trickle, however small the pieces are. */
const gatheringMs = 40;
const muchAtOnce = 48 * 1024;
const windowMs = 20;
const muchInWindow = 256 * 1024;

/** What is done with a stream on its way: values masked, a listener told, the file kept below `most` bytes. */
export type Copying = {
  readonly values: readonly string[];
  readonly heardBy?: ((bytes: Buffer) => void) | undefined;
  readonly most?: number | undefined;
};

export function copyMasked(source: Readable, file: number, how: Copying): MaskingCopy {
  const masker = maskStream(how.values);
  const kept = headAndTail(how.most ?? Number.POSITIVE_INFINITY);
  const hear = (bytes: Buffer): Buffer => {
    try {
      if (bytes.length > 0) how.heardBy?.(bytes);
    } catch {
      // Somebody who only looks on must not break what is looked at.
    }
    return bytes;
  };
  let received = 0;
  let writing = false;
  let over = false;
  let failure: { readonly error: unknown } | undefined;
  let breaks: (error: unknown) => void = () => {};
  const broken = new Promise<never>((_, reject) => {
    breaks = reject;
  });
  broken.catch(() => {});
  const fail = (error: unknown) => {
    failure ??= { error };
    over = true;
    source.destroy();
    breaks(error);
  };
  let finishing = false;
  let flowsUntil = 0;
  let window = { from: 0, bytes: 0 };
  /** Whether so little comes that the pipe had better gather it. */
  const trickles = (bytes: number): boolean => {
    const now = performance.now();
    window.bytes += bytes;
    const much = bytes >= muchAtOnce || window.bytes >= muchInWindow;
    if (much) flowsUntil = now + windowMs;
    if (much || now >= window.from + windowMs) window = { from: now, bytes: 0 };
    return now >= flowsUntil && !finishing;
  };
  let timer: NodeJS.Timeout | undefined;
  source.on('data', (chunk: Buffer) => {
    received += chunk.length;
    source.pause();
    const bytes = kept.push(hear(masker.push(chunk)));
    if (trickles(chunk.length)) {
      // So little is written at once for less than it costs to ask another thread.
      try {
        for (let from = 0; from < bytes.length; ) from += writeSync(file, bytes, from);
        timer = setTimeout(() => source.resume(), gatheringMs);
      } catch (error) {
        fail(error);
      }
      return;
    }
    writing = true;
    writeAll(file, bytes).then(() => {
      writing = false;
      source.resume();
    }, fail);
  });
  source.once('end', () => {
    over = true;
  });
  source.once('close', () => {
    over = true;
  });
  // A reader's error means no more than that the other side went away in an unusual manner.
  source.once('error', () => {
    over = true;
  });
  return {
    broken,
    async finish() {
      const most = received + mostAfterEnd;
      finishing = true;
      clearTimeout(timer);
      if (!writing) source.resume();
      for (let quiet = 0, before = received; !over && quiet < 3 && received < most; before = received) {
        await turn();
        quiet = writing || received !== before ? 0 : quiet + 1;
      }
      while (writing && failure === undefined) await turn();
      source.removeAllListeners('data');
      source.destroy();
      if (failure !== undefined) throw failure.error;
      await writeAll(file, kept.push(hear(masker.end())));
      await writeAll(file, kept.end());
    },
  };
}

/** Lets the event loop look at its descriptors once. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function writeAll(file: number, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; ) from += (await writeTo(file, bytes, from)).bytesWritten;
}

/** Where a file without a name can be made for a program whose output goes to `outputFile`. */
export const scratchFor = (outputFile: string): string =>
  isDevice(outputFile) ? tmpdir() : dirname(outputFile);
