/** The pipes of the product's standard streams. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants;

type Pipes = ReturnType<typeof openPipes>;

/** `left` is another reader of the standard input: it tells what the program has not read. */
const openPipes = (folder: string) => {
  const [input = '', output = '', errors = ''] = ['0', '1', '2'].map((name) => path.join(folder, name));
  const open = (name: string) => ({
    reader: fs.openSync(name, O_RDONLY | O_NONBLOCK),
    writer: fs.openSync(name, O_WRONLY),
  });
  const left = fs.openSync(input, O_RDONLY | O_NONBLOCK);
  const stdin = {
    writer: fs.openSync(input, O_WRONLY | O_NONBLOCK),
    reader: fs.openSync(input, O_RDONLY),
  };
  return { left, stdin, stdout: open(output), stderr: open(errors) };
};

/** Real pipes: a program that opens `/dev/stdin` or `/dev/stderr` fails on the sockets that Node makes. One start of `mkfifo` makes those
 *  of several launches; their names are gone when they are used. */
const spare: Pipes[] = [];
const launchesAhead = 4;
const morePipes = (): void => {
  const folder = fs.mkdtempSync(path.join(tmpdir(), '.pipes-'));
  try {
    const folders = Array.from({ length: launchesAhead }, (_, at) => path.join(folder, String(at)));
    for (const one of folders) fs.mkdirSync(one);
    const names = folders.flatMap((one) => ['0', '1', '2'].map((name) => path.join(one, name)));
    const made = spawnSync('mkfifo', ['-m', '600', ...names]);
    if (made.status !== 0) throw Object.assign(new Error('no pipes'), { code: 'ENFILE' });
    for (const one of folders) spare.push(openPipes(one));
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
};
/** Those for the next program. Throws the system's error, or one with the code `ENFILE`. */
export const takePipes = (): Pipes => {
  if (spare.length === 0) morePipes();
  return spare.pop() as Pipes;
};

/** How many bytes in the pipe were not read. Closes `fd`. */
export const unreadBytes = (fd: number): number => {
  const room = Buffer.allocUnsafe(65_536);
  let count = 0;
  try {
    for (let got = 1; got > 0; count += got) got = fs.readSync(fd, room, 0, room.length, null);
  } catch {
    // It is empty.
  }
  fs.closeSync(fd);
  return count;
};

/** The most that a pipe holds, so that a program in the background cannot make its end last. */
const pipeBytes = (() => {
  try {
    return Number(fs.readFileSync('/proc/sys/fs/pipe-max-size', 'utf8')) || 1 << 20;
  } catch {
    return 1 << 20;
  }
})();

/** What is in the pipe now, in the order in which it was written. */
export const contentNow = (fd: number): Buffer => {
  const pieces: Buffer[] = [];
  try {
    for (let left = pipeBytes; left > 0; ) {
      const room = Buffer.allocUnsafe(65_536);
      const got = fs.readSync(fd, room, 0, room.length, null);
      if (got === 0) break;
      pieces.push(room.subarray(0, got));
      left -= got;
    }
  } catch {
    // It is empty.
  }
  return Buffer.concat(pieces);
};
