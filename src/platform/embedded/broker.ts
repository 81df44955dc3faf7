/** The program that starts the product in the product's sandbox, whenever the launcher asks for it.
 *
 *  A launch has four connections on the socket `s` in the folder `socket`. Each begins with a line of JSON: `{id, stream}`, or for the
 *  control connection `{id, argv, cwd, env}`. The others then carry the bytes of one standard stream, ended by its end of file. On the
 *  control connection the launcher sends `{signal}`, and the broker `{code, signal, consumed}` or `{failed}`. */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import net, { type Socket } from 'node:net';
import path from 'node:path';
import { contentNow, takePipes, unreadBytes } from './pipes.ts';

export type BrokerPlaces = { readonly socket: string; readonly app: string; readonly temporary: string };

/** What the launcher asks for. A relative program with a slash is looked up in `cwd`, then in the product's folder. */
export type LaunchRequest = {
  readonly id: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether the program's standard output and error are one pipe, `out`. */
  readonly oneOutput: boolean;
};
/** `consumed`: bytes of standard input that the product's programs have read. `failed`: the code of the system's error. */
export type LaunchEnd =
  | { readonly code: number | null; readonly signal: string | null; readonly consumed: number }
  | { readonly failed: string };

/** Defined before the program's text: see `programWith`. */
declare const places: BrokerPlaces;
const { socket, app } = places;

type Launch = { request?: LaunchRequest; readonly streams: Map<string, Socket> };

const { O_WRONLY, O_NONBLOCK } = fs.constants;
const launches = new Map<string, Launch>();
const ignore = () => {};
// What a product does to its broker must not end the other programs of the product.
process.on('uncaughtException', ignore);
for (const signal of ['SIGINT', 'SIGHUP', 'SIGPIPE'] as const) process.on(signal, ignore);

/** Writes what arrives into the pipe, in pieces that are written whole or not at all. `left` is another reader of the pipe. The
 *  answer stops it, and says how much was written. */
const feed = (from: Socket, fd: number, left: number) => {
  const to = new net.Socket({ fd, readable: false, writable: true });
  to.on('error', ignore);
  let written = 0;
  let waiting = false;
  let ended = false;
  let again: NodeJS.Timeout | undefined;
  // A program that opens `/dev/stdin` after the end of file waits for a writer: these pipes have names, unlike a shell's.
  const reopen = () => {
    try {
      fs.closeSync(fs.openSync(`/proc/self/fd/${left}`, O_WRONLY | O_NONBLOCK));
    } catch {
      // It has ended.
    }
  };
  const close = () => {
    ended = true;
    if (waiting || again !== undefined) return;
    to.end();
    again = setInterval(reopen, 20);
  };
  const whole = 4096;
  const put = (bytes: Buffer, at: number): void => {
    if (at >= bytes.length) {
      waiting = false;
      if (ended) close();
      else from.resume();
      return;
    }
    const piece = bytes.subarray(at, at + whole);
    to.write(piece, (error) => {
      if (error) return;
      written += piece.length;
      put(bytes, at + whole);
    });
  };
  from.on('data', (bytes: Buffer) => {
    waiting = true;
    from.pause();
    put(bytes, 0);
  });
  from.once('end', close);
  from.once('close', close);
  // Its end may have arrived with its first line.
  if (from.readableEnded) close();
  from.resume();
  return () => {
    clearInterval(again);
    to.destroy();
    return written;
  };
};

/** Sends what arrives from the pipe. The answer ends the stream after all that was written before the call; a program in the background
 *  may keep the pipe, which is then read to nowhere. */
const drain = (fd: number, to: Socket) => {
  const from = new net.Socket({ fd, readable: true, writable: false });
  from.on('error', ignore);
  from.pipe(to);
  // The reader has closed the stream: the program must notice.
  const closed = () => from.destroy();
  to.once('close', closed);
  return () => {
    to.off('close', closed);
    if (!from.destroyed && !from.readableEnded) {
      from.unpipe(to);
      from.pause();
      for (let bytes = from.read() as Buffer | null; bytes !== null; bytes = from.read()) to.write(bytes);
      to.write(contentNow(fd));
      from.resume();
    }
    to.end();
  };
};

const run = (
  { argv, cwd, env, oneOutput }: LaunchRequest,
  streams: Map<string, Socket>,
  control: Socket,
): void => {
  const [given = '', ...args] = argv;
  const isPath = given.includes('/') && !given.startsWith('/');
  const program = !isPath || fs.existsSync(path.join(cwd, given)) ? given : path.join(app, given);
  const answer = (end: LaunchEnd) => {
    control.end(`${JSON.stringify(end)}\n`);
    for (const stream of streams.values()) stream.destroySoon();
  };
  const codeOf = (error: unknown) =>
    error instanceof Error && 'code' in error ? String(error.code) : 'ENOENT';
  let ends: ReturnType<typeof takePipes>;
  try {
    ends = takePipes();
  } catch (error) {
    answer({ failed: codeOf(error) });
    return;
  }
  const { left, stdin, stdout, stderr } = ends;
  const given3 = [stdin.reader, stdout.writer, stderr.writer];
  let child: ChildProcess;
  // By this variable the harness finds what the product leaves behind.
  const marked = { ...env, SCENARIO_RUN_ID: process.env['SCENARIO_RUN_ID'] };
  try {
    child = spawn(program, args, {
      cwd,
      env: marked,
      stdio: [stdin.reader, stdout.writer, oneOutput ? stdout.writer : stderr.writer],
      detached: true,
    });
  } catch (error) {
    for (const fd of [...given3, left, stdin.writer, stdout.reader, stderr.reader]) fs.closeSync(fd);
    answer({ failed: codeOf(error) });
    return;
  }
  for (const fd of given3) fs.closeSync(fd);
  const [input, output, errors] = ['in', 'out', 'err'].map((name) => streams.get(name));
  if (input === undefined || output === undefined || errors === undefined) return;
  const fed = feed(input, stdin.writer, left);
  const drained = [drain(stdout.reader, output), drain(stderr.reader, errors)];
  let over = false;
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    over = true;
    fed();
    fs.closeSync(left);
    answer({ failed: codeOf(error) });
  });
  child.once('exit', (code, signal) => {
    over = true;
    const consumed = Math.max(0, fed() - unreadBytes(left));
    for (const end of drained) end();
    answer({ code, signal, consumed });
  });
  onLines(control, (line) => {
    const { signal } = JSON.parse(line) as { signal: NodeJS.Signals };
    if (!over) child.kill(signal);
  });
  // The caller was killed, and so is what it started. The end alone closes no connection that may be half open.
  const lost = () => {
    if (!over && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  if (control.destroyed || control.readableEnded) lost();
  else control.once('end', lost).once('close', lost);
};

/** Calls `take` with each line, from what has arrived already. */
const onLines = (from: Socket, take: (line: string) => void): void => {
  let text = '';
  from.setEncoding('utf8');
  from.on('data', (more: string) => {
    text += more;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      take(line);
    }
  });
  from.resume();
};

const begin = (connection: Socket): void => {
  connection.on('error', ignore);
  let head = Buffer.alloc(0);
  const read = () => {
    for (let bytes = connection.read() as Buffer | null; bytes !== null; bytes = connection.read()) {
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf(10);
      if (end < 0) continue;
      connection.off('readable', read);
      connection.pause();
      if (end + 1 < head.length) connection.unshift(head.subarray(end + 1));
      join(connection, head.toString('utf8', 0, end));
      return;
    }
  };
  connection.on('readable', read);
};

const join = (connection: Socket, line: string): void => {
  const message = JSON.parse(line) as LaunchRequest & { stream?: string };
  const launch: Launch & { control?: Socket } = launches.get(message.id) ?? { streams: new Map() };
  launches.set(message.id, launch);
  if (message.stream === undefined) Object.assign(launch, { request: message, control: connection });
  else launch.streams.set(message.stream, connection);
  const { request, control, streams } = launch;
  if (request === undefined || control === undefined || streams.size < 3) return;
  launches.delete(message.id);
  run(request, streams, control);
};

// A relative name: the whole path may be longer than a socket's name may be.
process.chdir(socket);
net
  .createServer({ allowHalfOpen: true, pauseOnConnect: false }, begin)
  .listen('s', () => process.stdout.write('ready\n'));
