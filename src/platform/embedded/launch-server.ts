/** The launcher of a phase: one process that serves the calls of `"$APP_RUN"`, so that a call costs a shell instead of Node.js. It runs in
 *  the scenario's sandbox, and its pipes are in a folder that the product does not see.
 *
 *  For each call a slot is made ahead: a folder with the pipes `call`, `answer`, `in`, `out` and `err`. The shell claims one by creating
 *  `claim` in it, opens the pipes, and writes its process id and the number of its arguments to `call`, later the names of signals that it
 *  gets. A standard input that is a socket it copies to `in` as soon as the server opens that. `call` ends when the shell has ended. It copies `out` and `err`
 *  until they end, which says that the call has ended and all output is there, and then reads `CODE SIGNAL CONSUMED` from `answer`. The
 *  code `alone` asks it to use the launcher of a single call. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net, { type Socket } from 'node:net';
import { constants } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { LaunchEnd } from './broker.ts';
import {
  type Caller,
  callerEnd,
  connectLaunch,
  forwardedSignals,
  ignore,
  isOneOutput,
  type LauncherPlaces,
  launchEnd,
  launchRequest,
  leaveMark,
  sendSignal,
} from './launch.ts';
import { linkTarget } from './links.ts';
import { type InputKind, inputKind, isScriptsInput, lostInput, readInput } from './standard-input.ts';

export type ServerPlaces = LauncherPlaces & {
  /** Folder of the slots, in which the pipes `wake` and `ready` exist. */
  readonly calls: string;
};

/** Defined before the program's text: see `programWith`. */
declare const places: ServerPlaces;
const { calls } = places;
const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = fs.constants;
const slotsAhead = 8;

type Slot = {
  readonly folder: string;
  readonly call: Socket;
  /** Of `call`: by it a process is known as the one that has claimed the slot. */
  readonly inode: bigint;
  readonly answer: number;
  /** Of `out` and `err`: the shell would wait for a writer. */
  readonly held: readonly number[];
};

const pipeNames = ['call', 'answer', 'in', 'out', 'err'] as const;
let made = 0;
let free = 0;

/** Makes the pipes of several slots by one start of `mkfifo`. */
const makeSlots = (): void => {
  const names = Array.from({ length: slotsAhead }, () => String(++made));
  // A name with a dot is not found by the shell.
  for (const name of names) fs.mkdirSync(path.join(calls, `.${name}`));
  free += slotsAhead;
  const pipes = names.flatMap((name) => pipeNames.map((pipe) => path.join(calls, `.${name}`, pipe)));
  spawn('mkfifo', ['-m', '600', ...pipes], { stdio: 'ignore' })
    .once('error', () => process.exit(1))
    .once('exit', (code) => {
      if (code !== 0) process.exit(1);
      for (const name of names) openSlot(name);
      openGate();
    });
};

const openSlot = (name: string): void => {
  const folder = path.join(calls, `.${name}`);
  const open = (pipe: (typeof pipeNames)[number], flags: number) =>
    fs.openSync(path.join(folder, pipe), flags);
  const fd = open('call', O_RDONLY | O_NONBLOCK);
  const inode = fs.fstatSync(fd, { bigint: true }).ino;
  const call = new net.Socket({ fd, readable: true, writable: false });
  const both = O_RDWR | O_NONBLOCK;
  const shown = path.join(calls, name);
  serve({
    folder: shown,
    call,
    inode,
    answer: open('answer', both),
    held: [open('out', both), open('err', both)],
  });
  fs.renameSync(folder, shown);
};

let isOpen = false;
/** Callers wait in opening `ready` until it has a writer. */
const openGate = (): void => {
  if (!isOpen) fs.openSync(path.join(calls, 'ready'), O_RDWR);
  isOpen = true;
};

/** Waits for the caller of a slot, and serves it. */
const serve = (slot: Slot): void => {
  let control: Socket | undefined;
  let isAsked = false;
  const early: string[] = [];
  const take = (line: string) => {
    const [id, count] = line.split(' ');
    if (count === undefined) {
      if (control === undefined) early.push(line);
      else sendSignal(control, `SIG${line}`);
    } else if (!isAsked) {
      isAsked = true;
      control = begin(slot, Number(id), Number(count));
      for (const name of early) if (control !== undefined) sendSignal(control, `SIG${name}`);
    }
  };
  let text = '';
  slot.call.setEncoding('latin1').on('error', ignore);
  slot.call.on('data', (more: string) => {
    text += more;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
      const line = text.slice(0, at);
      text = text.slice(at + 1);
      take(line);
    }
  });
  slot.call.once('close', () => {
    // The caller has ended; if it was killed, so is what it launched.
    control?.destroy();
    for (const fd of isAsked ? [slot.answer] : [slot.answer, ...slot.held]) fs.closeSync(fd);
    remove(slot.folder);
    free -= 1;
    if (free <= slotsAhead / 2) makeSlots();
  });
};

/** Where the shell keeps its standard output. */
const outputFd = '5';

type Call = Caller & { readonly proc: string; readonly parent: number; readonly input: InputKind };

/** Under another name first: without its `claim`, but with its pipes, a slot would look free. */
const remove = (folder: string): void => {
  const hidden = path.join(calls, `.${path.basename(folder)}`);
  fs.renameSync(folder, hidden);
  fs.rmSync(hidden, { recursive: true, force: true });
};

const openPipe = ({ folder }: Slot, name: (typeof pipeNames)[number], flags: number): Socket => {
  const readable = flags === O_RDONLY;
  const fd = fs.openSync(path.join(folder, name), flags | O_NONBLOCK);
  return new net.Socket({ fd, readable, writable: !readable }).on('error', ignore);
};

/** Begins a call; the answer is its connection to the broker. */
const begin = (slot: Slot, id: number, count: number): Socket | undefined => {
  const [out, err] = [openPipe(slot, 'out', O_WRONLY), openPipe(slot, 'err', O_WRONLY)];
  for (const fd of slot.held) fs.closeSync(fd);
  const finish = (answer: string) => {
    if (!slot.call.destroyed) fs.writeSync(slot.answer, `${answer}\n`);
    out.end();
    err.end();
  };
  try {
    const call = callerOf(id, count, slot.inode);
    const { input, proc } = call;
    const stdin = input === 'socket' ? openPipe(slot, 'in', O_RDONLY) : readInput(input, proc);
    const { control, ended } = launch(call, stdin, out, err);
    ended.then((end) => {
      // Of a caller that was killed nothing follows.
      finish(slot.call.destroyed ? '' : answerTo(call, end, err));
    });
    return control;
  } catch {
    finish('alone - 0');
    return undefined;
  }
};

type Ended = { readonly end: LaunchEnd | undefined; readonly length: number };

const launch = (call: Call, stdin: Readable | undefined, out: Socket, err: Socket) => {
  const { control, input, output, errors } = connectLaunch(launchRequest(call, places));
  leaveMark(places, 'launched');
  let length = 0;
  stdin?.on('error', ignore);
  stdin?.on('data', (bytes: Buffer) => {
    length += bytes.length;
  });
  if (stdin === undefined) input.end();
  else stdin.pipe(input);
  const copied = Promise.all([copy(output, out), copy(errors, err)]);
  const ended = launchEnd(control).then(async (end): Promise<Ended> => {
    if (end !== undefined) await copied;
    stdin?.destroy();
    return { end, length };
  });
  return { control, ended };
};

/** What the caller must know of the end. */
const answerTo = ({ argv, input, proc, parent }: Call, { end, length }: Ended, err: Socket): string => {
  const { code, signal, consumed, message } = callerEnd(end, argv[0] ?? '', places);
  const isLost =
    input === 'pipe' && message === undefined && length > consumed && isScriptsInput(proc, parent);
  if (isLost) leaveMark(places, 'input-lost');
  const text = isLost ? lostInput : message;
  if (text !== undefined) err.write(`APP_RUN: ${text}\n`);
  return `${code} ${signal?.slice(3) ?? '-'} ${input === 'file' ? Math.min(consumed, length) : 0}`;
};

/** Settles when all that the product wrote is written to the pipe of the caller, or that has no reader. */
const copy = (from: Socket, to: Socket): Promise<void> =>
  new Promise((copied) => {
    from.pipe(to, { end: false });
    to.once('error', () => from.destroy());
    from.once('end', () => from.end());
    from.once('end', copied);
    from.once('close', copied);
  });

/** The caller as `/proc` shows it. Throws for one that needs the launcher of a single call. */
const callerOf = (id: number, count: number, inode: bigint): Call => {
  const proc = `/proc/${id}`;
  const read = (name: string) => fs.readFileSync(path.join(proc, name), 'utf8');
  // Its number may be that of another process here.
  const isCaller = fs.statSync(path.join(proc, 'fd/9'), { bigint: true }).ino === inode;
  const status = read('status');
  const parent = Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]);
  const input = inputKind(() => fs.statSync(path.join(proc, 'fd/0')));
  if (!isCaller || ignoresSignals(status) || !isCopied(proc, input, parent)) throw new Error('alone');
  const folder = linkTarget(path.join(proc, 'cwd'));
  const env: Record<string, string> = {};
  for (const one of read('environ').split('\0')) {
    const at = one.indexOf('=');
    // The first counts.
    if (at > 0 && !Object.hasOwn(env, one.slice(0, at))) env[one.slice(0, at)] = one.slice(at + 1);
  }
  return {
    proc,
    parent,
    input,
    argv: read('cmdline').split('\0').slice(0, -1).slice(-count),
    env,
    folder: folder !== undefined && fs.existsSync(folder) ? folder : undefined,
    oneOutput: isOneOutput(proc, outputFd),
  };
};

/** A shell cannot take a signal that was ignored when it began: those of a call in the background. */
const ignoresSignals = (status: string): boolean => {
  const ignored = BigInt(`0x${/^SigIgn:\s*(\w+)/m.exec(status)?.[1]}`);
  return forwardedSignals.some((name) => ((ignored >> BigInt(constants.signals[name] - 1)) & 1n) === 1n);
};

/** Whether `cat` can copy the caller's streams: it fails where a descriptor does not block, and what it has read of an input that the
 *  script reads too is not counted. */
const isCopied = (proc: string, input: InputKind, parent: number): boolean =>
  input !== 'other' &&
  !(input === 'socket' && (isScriptsInput(proc, parent) || isNonBlocking(proc, '0'))) &&
  ![outputFd, '2'].some((fd) => isNonBlocking(proc, fd));

const isNonBlocking = (proc: string, fd: string): boolean => {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(fs.readFileSync(path.join(proc, 'fdinfo', fd), 'utf8'))?.[1];
    return (Number.parseInt(flags ?? '0', 8) & O_NONBLOCK) !== 0;
  } catch {
    return false;
  }
};

/** A program of PATH, which the script may change later. */
const linkProgram = (name: string): void => {
  const found = (process.env['PATH'] ?? '')
    .split(':')
    .map((folder) => path.join(folder, name))
    .find((file) => path.isAbsolute(file) && isProgram(file));
  if (found === undefined) process.exit(1);
  fs.symlinkSync(found, path.join(calls, name));
};
const isProgram = (file: string): boolean => {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
};

// Those that the script sends to its process group.
for (const name of [...forwardedSignals, 'SIGPIPE'] as const) process.on(name, ignore);
process.chdir(places.socket);
linkProgram('cat');
linkProgram('head');
makeSlots();
