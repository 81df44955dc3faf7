/** The program behind `"$APP_RUN"` in a scenario's sandbox: it has the product's broker start a program, and behaves as that program
 *  would have. */
import { randomBytes } from 'node:crypto';
import fs, { type Dirent } from 'node:fs';
import net, { type Socket } from 'node:net';
import { constants } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { LaunchEnd, LaunchRequest } from './broker.ts';

export type LauncherPlaces = {
  /** Folder of the broker's socket. */
  readonly socket: string;
  readonly app: string;
  readonly temporary: string;
  /** Folder in which the launcher leaves what the harness must know: `launched`, `input-lost`, `links`, `gone`. */
  readonly marks: string;
  /** Names of places that the product must not learn. */
  readonly hidden: readonly string[];
};

/** Defined before the program's text: see `programWith`. */
declare const places: LauncherPlaces;
const { socket, app, temporary, marks, hidden } = places;
const [, , ...argv] = process.argv;
const ignore = () => {};
const leave = (code: number, text: string): never => {
  try {
    fs.writeSync(2, `APP_RUN: ${text}\n`);
  } catch {
    // Standard error is closed.
  }
  process.exit(code);
};
if (argv.length === 0) leave(125, 'no program is given: "$APP_RUN" PROGRAM ARGUMENTS…');
const mark = (name: string, text = '') => {
  try {
    fs.writeFileSync(path.join(marks, name), text);
  } catch {
    // The harness then knows less.
  }
};

/** Where the script is, if the product has that place too; else the product's folder. */
const folder = (): string => {
  try {
    const here = process.cwd();
    return [app, temporary].some((place) => here === place || here.startsWith(`${place}/`)) ? here : app;
  } catch {
    return app;
  }
};
const dropped = ['APP_RUN', 'SCENARIO_MODE', 'REQUIRE_LIVE', 'SCENARIO_NODE_OPTIONS', 'OLDPWD', '_'];
const isNamedIn = (text: string, place: string) =>
  text
    .split(place)
    .slice(1)
    .some((rest) => !/^[\w.-]/.test(rest));
const environment = (cwd: string): Record<string, string> => {
  const env: Record<string, string> = {};
  for (const [name, value = ''] of Object.entries(process.env))
    if (!dropped.includes(name) && !hidden.some((place) => isNamedIn(value, place))) env[name] = value;
  const options = process.env['SCENARIO_NODE_OPTIONS'];
  if (options !== undefined) env['NODE_OPTIONS'] = options;
  env['PWD'] = cwd;
  return env;
};

const cwd = folder();
const id = randomBytes(12).toString('hex');
const request: LaunchRequest = { id, argv, cwd, env: environment(cwd) };
const gone = () => {
  mark('gone');
  leave(125, 'the product’s sandbox ended before the product did: the product ended its own broker');
};
// A relative name: the whole path may be longer than a socket's name may be.
try {
  process.chdir(socket);
} catch {
  gone();
}
let end: LaunchEnd | undefined;

const connect = (first: unknown): Socket => {
  const connection = net.createConnection({ path: 's', allowHalfOpen: true });
  connection.on('error', ignore);
  connection.write(`${JSON.stringify(first)}\n`);
  return connection;
};
const control = connect(request);
const input = connect({ id, stream: 'in' });

/** Copies a stream of the product to a descriptor; the answer settles when all is written. */
const copy = (stream: string, fd: number): Promise<void> =>
  new Promise((copied) => {
    const from = connect({ id, stream });
    let waiting = false;
    let ended = false;
    const close = () => {
      ended = true;
      if (!waiting) copied();
    };
    const put = (bytes: Buffer, at: number): void => {
      if (at >= bytes.length) {
        waiting = false;
        if (ended) copied();
        else from.resume();
        return;
      }
      // Not the synchronous call: a slow reader must not delay signals.
      fs.write(fd, bytes, at, bytes.length - at, null, (error, count) => {
        if (error === null) return put(bytes, at + count);
        // Another program has made the pipe non-blocking.
        if (error.code === 'EAGAIN') setTimeout(() => put(bytes, at), 5);
        else {
          waiting = false;
          from.destroy();
        }
      });
    };
    from.on('data', (bytes: Buffer) => {
      waiting = true;
      from.pause();
      put(bytes, 0);
    });
    from.once('end', () => from.end());
    from.once('close', close);
  });
const copied = Promise.all([copy('out', 1), copy('err', 2)]);

const link = (place: string): string | undefined => {
  try {
    return fs.readlinkSync(place);
  } catch {
    return undefined;
  }
};
const kind = (() => {
  try {
    const is = fs.fstatSync(0);
    return is.isFile() ? 'file' : is.isFIFO() ? 'pipe' : is.isSocket() ? 'socket' : 'other';
  } catch {
    return 'none';
  }
})();
let length = 0;
/** Standard input. A file is read by position, so that its offset can be set to what the product has read. */
const source = (): Readable | undefined => {
  if (kind === 'none') return undefined;
  if (kind === 'file') {
    const start = Number(/^pos:\s*(\d+)/m.exec(fs.readFileSync('/proc/self/fdinfo/0', 'utf8'))?.[1] ?? 0);
    return fs.createReadStream('', { fd: 0, start, autoClose: false });
  }
  // A separate descriptor: the script’s must stay blocking.
  if (kind === 'pipe')
    return new net.Socket({
      fd: fs.openSync('/proc/self/fd/0', fs.constants.O_RDONLY | fs.constants.O_NONBLOCK),
      readable: true,
      writable: false,
    });
  return process.stdin;
};
const stdin = source();
stdin?.on('error', ignore);
stdin?.on('data', (bytes: Buffer) => {
  length += bytes.length;
});
if (stdin === undefined) input.end();
else stdin.pipe(input);

/** Input that the script would have read itself after a product that reads none. */
const giveBack = (consumed: number): void => {
  if (kind === 'file') {
    const room = Buffer.allocUnsafe(65_536);
    for (let rest = consumed; rest > 0; ) {
      const got = fs.readSync(0, room, 0, Math.min(rest, room.length), null);
      if (got === 0) break;
      rest -= got;
    }
  } else if (length > consumed && link('/proc/self/fd/0') === link(`/proc/${process.ppid}/fd/0`)) {
    mark('input-lost');
    fs.writeSync(
      2,
      'APP_RUN: the product left standard input of the script unread, which is lost: add </dev/null to this call\n',
    );
  }
};

/** A link in the product's places that leads a program of the script to the script's own files: `cmp wanted out` compares a file with
 *  itself where `out` is a link to `/proc/self/fd/3`. */
const badLink = (): string | undefined => {
  const folders = [temporary, app];
  let budget = 20_000;
  for (let folder = folders.pop(); folder !== undefined && budget > 0; folder = folders.pop()) {
    let entries: Dirent[] = [];
    try {
      entries = fs.readdirSync(folder, { withFileTypes: true });
    } catch {
      // The script could not read it either.
    }
    budget -= entries.length;
    for (const entry of entries) {
      const place = path.join(folder, entry.name);
      if (entry.isDirectory()) folders.push(place);
      if (!entry.isSymbolicLink()) continue;
      const to = link(place);
      if (to !== undefined && leadsAstray(path.resolve(folder, to))) return `${place} -> ${to}`;
    }
  }
  return undefined;
};
const leadsAstray = (to: string): boolean =>
  /^\/(?:proc|dev\/(?:fd|stdin))(?:\/|$)/.test(to) || hidden.some((place) => isNamedIn(to, place));

let text = '';
control.setEncoding('utf8');
control.on('data', (more: string) => {
  text += more;
  const at = text.indexOf('\n');
  if (at < 0 || end !== undefined) return;
  try {
    end = JSON.parse(text.slice(0, at)) as LaunchEnd;
  } catch {
    gone();
  }
});
control.once('close', async () => {
  if (end === undefined) return gone();
  await copied;
  if ('failed' in end) {
    const why =
      end.failed === 'EACCES' ? 'Permission denied' : end.failed === 'ENOENT' ? 'not found' : end.failed;
    return leave(end.failed === 'ENOENT' ? 127 : 126, `1: ${argv[0]}: ${why}`);
  }
  giveBack(Number(end.consumed));
  const bad = badLink();
  if (bad !== undefined) mark('links', bad);
  const { code, signal } = end;
  if (typeof code === 'number') process.exit(code & 255);
  if (typeof signal !== 'string' || constants.signals[signal as NodeJS.Signals] === undefined) return gone();
  for (const name of forwarded) process.removeAllListeners(name);
  process.kill(process.pid, signal as NodeJS.Signals);
  // For signals that do not end this program.
  setTimeout(() => process.exit(128 + constants.signals[signal as NodeJS.Signals]), 100);
});
control.once('end', () => control.end());

const forwarded = [
  'SIGTERM',
  'SIGINT',
  'SIGHUP',
  'SIGQUIT',
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGWINCH',
  'SIGCONT',
] as const;
for (const name of forwarded)
  process.on(name, () => {
    control.write(`${JSON.stringify({ signal: name })}\n`);
  });
mark('launched');
